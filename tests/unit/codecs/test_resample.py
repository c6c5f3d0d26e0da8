import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from legato.audio import AudioFormat
from legato.codecs.resample import Resampler
from legato.errors import BadAudio
from tests.unit.codecs.recordings import int16, noise, tone

RATES_HZ = (8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000)
PAIRS = list(itertools.permutations(RATES_HZ, 2))
USUAL_PAIRS = [
    (48_000, 16_000),
    (24_000, 16_000),
    (22_050, 24_000),
    (44_100, 16_000),
    (16_000, 48_000),
    (8_000, 16_000),
]
THREADS = Path("/proc/self/task")


def resampler(source_hz: int, target_hz: int, source: int = 1, target: int = 1) -> Resampler:
    return Resampler(AudioFormat(source_hz, source), AudioFormat(target_hz, target))


def convert(machine: Resampler, pcm: bytes, chunk_samples: int) -> bytes:
    step = chunk_samples * machine.source.sample_bytes
    pieces = [machine.push(pcm[at : at + step]) for at in range(0, len(pcm), step)]
    return b"".join(pieces) + machine.flush()


def measured(pairs: list[tuple[int, int]]) -> pytest.MarkDecorator:
    """Run for each pair of rates; the unusual ones only where there is time."""
    rows = [
        pytest.param(*pair, marks=[] if pair in USUAL_PAIRS else [pytest.mark.slow])
        for pair in pairs
    ]
    return pytest.mark.parametrize(("source_hz", "target_hz"), rows)


@pytest.mark.parametrize(("source_hz", "target_hz"), PAIRS)
def test_chunks_change_nothing_and_the_length_is_exact(source_hz: int, target_hz: int) -> None:
    machine = resampler(source_hz, target_hz)
    pcm = noise(source_hz // 4 + 7)
    whole = convert(machine, pcm, len(pcm))
    assert len(whole) // 2 == round((source_hz // 4 + 7) * target_hz / source_hz)
    assert convert(machine, pcm, source_hz // 50) == whole
    assert convert(machine, pcm, 37) == whole


@pytest.mark.parametrize(("source_hz", "target_hz"), PAIRS)
def test_at_most_5_ms_are_held_back(source_hz: int, target_hz: int) -> None:
    machine = resampler(source_hz, target_hz)
    frame = bytes(source_hz // 50 * 2)
    given = 0
    for pushed in range(1, 6):
        given += len(machine.push(frame)) // 2
        assert 0 <= pushed * (source_hz // 50) / source_hz - given / target_hz <= 0.005


@given(st.sampled_from(PAIRS), st.lists(st.integers(0, 400), max_size=20), st.integers(1, 2))
def test_any_cut_into_chunks_gives_the_same_bytes(
    pair: tuple[int, int], sizes: list[int], channels: int
) -> None:
    machine = resampler(*pair, channels, channels)
    pcm = noise(sum(sizes), channels=channels)
    at, pieces = 0, []
    for size in sizes:
        end = at + size * machine.source.sample_bytes
        pieces.append(machine.push(pcm[at:end]))
        at = end
    pieces.append(machine.flush())
    assert b"".join(pieces) == machine.push(pcm) + machine.flush()
    expected = round(sum(sizes) * pair[1] / pair[0]) * machine.target.sample_bytes
    assert len(b"".join(pieces)) == expected


@pytest.mark.parametrize(("source_hz", "target_hz"), [(8_000, 48_000), (48_000, 8_000)])
@pytest.mark.parametrize("samples", [1, 2, 5, 16, 33, 100])
def test_even_a_sound_shorter_than_the_filter_comes_out(
    source_hz: int, target_hz: int, samples: int
) -> None:
    loud = b"\x00\x40" * samples
    out = convert(resampler(source_hz, target_hz), loud, samples)
    assert len(out) // 2 == round(samples * target_hz / source_hz)
    assert not out or np.abs(int16(out)).max() > 0


def averaged(pcm: bytes, rate_hz: int) -> NDArray[np.float64]:
    """The mean of all whole seconds but the first and last: noise falls, a periodic sound stays."""
    samples = np.frombuffer(pcm, "<i2")
    seconds = samples[: samples.size // rate_hz * rate_hz].reshape(-1, rate_hz)
    mean: NDArray[np.float64] = seconds[1:-1].mean(axis=0, dtype=np.float64)
    return mean


def dithered(frequency_hz: int, rate_hz: int, seconds: int) -> bytes:
    """A sine with triangular dither, so that its rounding error is noise and averages out."""
    random = np.random.default_rng(7)
    at = np.arange(rate_hz) / rate_hz
    sine = np.tile(32_000 * np.sin(2 * np.pi * frequency_hz * at), seconds)
    dither = random.random(sine.size, np.float32) - random.random(sine.size, np.float32)
    samples: NDArray[np.int16] = np.rint(sine + dither).astype("<i2")
    return samples.tobytes()


def power_db(signal: NDArray[np.float64]) -> float:
    return float(10 * np.log10(np.mean(np.square(signal))))


@measured(PAIRS)
def test_997_hz_stays_100_db_above_the_error(source_hz: int, target_hz: int) -> None:
    machine = resampler(source_hz, target_hz)
    out = averaged(convert(machine, dithered(997, source_hz, 40), source_hz), target_hz)
    at = 2 * np.pi * 997 * np.arange(target_hz) / target_hz
    basis = np.stack([np.sin(at), np.cos(at), np.ones_like(at)], axis=1)
    fit = basis @ np.linalg.lstsq(basis, out)[0]
    assert power_db(fit) - power_db(out - fit) >= 100
    assert abs(power_db(fit) - power_db(32_000 * np.sin(at))) < 0.1


@measured([(source, target) for source, target in PAIRS if 1.25 * target < source])
def test_what_cannot_be_represented_is_90_db_down(source_hz: int, target_hz: int) -> None:
    frequency_hz = round(1.25 * target_hz / 2)
    machine = resampler(source_hz, target_hz)
    out = averaged(convert(machine, dithered(frequency_hz, source_hz, 40), source_hz), target_hz)
    assert power_db(np.array([32_000.0])) - 3 - power_db(out) >= 90


def test_full_scale_is_clipped_not_wrapped() -> None:
    square = np.tile(np.repeat(np.array([32767, -32768], "<i2"), 40), 20)
    out = int16(convert(resampler(16_000, 48_000), square.tobytes(), 320))
    # Between the 40 edges the overshoot of the filter is cut off; wrapped, it would change sign.
    assert np.count_nonzero(np.diff(out > 0)) == 39
    assert (out.min(), out.max()) == (-32768, 32767)


def test_nothing_is_computed_when_the_formats_agree() -> None:
    pcm = noise(1000, channels=2)
    machine = resampler(44_100, 44_100, 2, 2)
    assert machine.push(pcm) == pcm
    assert machine.push(bytearray(pcm)) == pcm
    assert machine.flush() == b""


def test_mono_is_doubled_and_stereo_averaged() -> None:
    mono = tone(997, 24_000, 0.5)
    as_mono = convert(resampler(24_000, 16_000), mono, 480)
    as_stereo = int16(convert(resampler(24_000, 16_000, 1, 2), mono, 480)).reshape(-1, 2)
    assert np.array_equal(as_stereo[:, 0], int16(as_mono))
    assert np.array_equal(as_stereo[:, 0], as_stereo[:, 1])
    doubled = np.repeat(int16(mono), 2).astype("<i2").tobytes()
    assert convert(resampler(24_000, 16_000, 2, 1), doubled, 480) == as_mono
    assert convert(resampler(24_000, 24_000, 2, 1), doubled, 480) == mono


def test_the_channels_do_not_leak_into_each_other() -> None:
    left = int16(tone(997, 48_000, 0.5))
    pcm = np.stack([left, np.zeros_like(left)], axis=1).astype("<i2").tobytes()
    out = int16(convert(resampler(48_000, 16_000, 2, 2), pcm, 960)).reshape(-1, 2)
    assert np.abs(out[:, 0]).max() > 11_000
    assert not out[:, 1].any()


def test_a_flush_begins_a_new_stream() -> None:
    pcm = noise(4801)
    machine = resampler(48_000, 11_025)
    first = convert(machine, pcm, 960)
    assert machine.flush() == b""
    assert convert(machine, pcm, 960) == first


def test_a_reset_forgets_what_was_held_back() -> None:
    pcm = noise(4801)
    machine = resampler(48_000, 11_025)
    fresh = convert(machine, pcm, 960)
    machine.push(noise(777, seed=2))
    machine.reset()
    assert convert(machine, pcm, 960) == fresh


@pytest.mark.parametrize("target_hz", [16_000, 24_000])
def test_half_a_sample_is_refused_and_leaves_the_stream_whole(target_hz: int) -> None:
    pcm = noise(1600)
    machine = resampler(16_000, target_hz)
    expected = machine.push(pcm) + machine.flush()
    head = machine.push(pcm[:320])
    with pytest.raises(BadAudio, match="321 bytes"):
        machine.push(bytes(321))
    assert head + machine.push(pcm[320:]) + machine.flush() == expected


@pytest.mark.skipif(not THREADS.exists(), reason="threads are counted in /proc")
def test_a_stream_costs_no_thread() -> None:
    before = len(list(THREADS.iterdir()))
    machines = [resampler(24_000, 16_000) for _ in range(8)]
    for machine in machines:
        machine.push(bytes(960))
    assert len(list(THREADS.iterdir())) == before
