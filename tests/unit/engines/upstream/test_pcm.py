import itertools

import numpy as np
import pytest

from legato.audio import AudioFormat
from legato.engines.upstream.faults import Fault
from legato.engines.upstream.pcm import Slices, at_speed, from_float, limited, whole_samples


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_a_sample_may_lie_in_two_pieces(size: int) -> None:
    data = bytes(range(100))
    pieces = [data[at : at + size] for at in range(0, 100, size)]
    given = list(whole_samples(pieces))
    assert b"".join(given) == data
    assert all(len(piece) % 2 == 0 and piece for piece in given)


def test_audio_that_ends_within_a_sample_was_cut_off() -> None:
    given = whole_samples([b"123"])
    assert next(given) == b"12"
    with pytest.raises(Fault, match="middle of a sample"):
        next(given)


def test_float_samples_are_clipped_and_not_wrapped() -> None:
    raw = np.array([0.5, 1.5, -1.5, np.nan], "<f4").tobytes()
    assert np.frombuffer(from_float(raw), "<i2").tolist() == [16_384, 32_767, -32_768, 0]


def test_float_samples_that_are_cut_off_are_a_fault() -> None:
    with pytest.raises(Fault):
        from_float(b"12345")


def test_at_twice_the_speed_audio_is_half_as_long() -> None:
    pcm = bytes(48_000)
    assert b"".join(at_speed([pcm], 1.0, 24_000)) == pcm
    fast = b"".join(at_speed([pcm], 2.0, 24_000))
    assert len(fast) == pytest.approx(24_000, rel=0.05)


def test_chunks_are_short_and_numbered_without_gaps() -> None:
    slices = Slices(AudioFormat(24_000))
    chunks = [*slices.cut(bytes(10_000)), *slices.cut(bytes(100))]
    assert [chunk.samples for chunk in chunks] == [2_400, 2_400, 200, 50]
    assert [chunk.sample for chunk in chunks] == [0, 2_400, 4_800, 5_000]


def test_audio_that_goes_on_and_on_is_given_up() -> None:
    second = bytes(48_000)
    audio = limited(itertools.repeat(second), lambda: 3, AudioFormat(24_000))
    assert len(list(itertools.islice(audio, 26))) == 26
    with pytest.raises(Fault, match="goes on after 26 s"):
        next(audio)
