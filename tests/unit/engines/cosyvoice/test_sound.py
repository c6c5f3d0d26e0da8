import numpy as np
import pytest
from numpy.typing import NDArray

from legato.engines.cosyvoice.sound import MOST_DB, Clip, joined, speech_level

RATE_HZ = 24_000
Samples = NDArray[np.float32]


def tone(seconds: float, loudness: float = 0.3, start: float = 0.0) -> Samples:
    at = start + np.arange(round(RATE_HZ * seconds)) / RATE_HZ
    return (loudness * np.sin(2 * np.pi * 200 * at)).astype(np.float32)


def mended(*chunks: Samples, streamed: bool = True, reference: float | None = None) -> Samples:
    clip = Clip(RATE_HZ, streamed=streamed, reference=reference)
    return np.concatenate([*(clip.push(chunk) for chunk in chunks), clip.end()])


def test_a_whole_chunk_but_its_end_is_given_at_once() -> None:
    clip = Clip(RATE_HZ, streamed=True, reference=None)
    assert len(clip.push(tone(1))) == RATE_HZ * 0.955
    assert len(clip.end()) == RATE_HZ * 0.005
    assert len(clip.end()) == 0


def test_chunks_that_go_on_are_left_as_they_are() -> None:
    whole = tone(1)
    cut = mended(whole[:7_000], whole[7_000:7_010], whole[7_010:], streamed=False)
    assert np.array_equal(cut[120:-120], whole[120:-120])


def test_the_edges_of_a_clip_are_silent() -> None:
    audio = mended(tone(0.5, start=0.00125), streamed=False)
    assert audio[0] == 0
    assert abs(audio[-1]) < 0.01


@pytest.mark.parametrize("seconds", [0.0, 0.001, 0.03, 0.044])
def test_a_clip_that_is_hardly_there_is_no_error(seconds: float) -> None:
    assert len(mended(tone(seconds))) <= RATE_HZ * 0.005


def test_no_number_is_silence_and_too_much_is_full_scale() -> None:
    broken = np.array([np.nan, np.inf, -np.inf, 3.0] * 200, np.float32)
    audio = mended(broken, streamed=False)
    assert np.abs(audio).max() <= 1.0
    assert np.isfinite(audio).all()


def test_a_step_is_spread_and_fades() -> None:
    before, after = tone(0.1), tone(0.1) + np.float32(0.4)
    found = joined(before[-120:], after, 120)
    assert abs(found[0] - before[-1]) < 0.03
    assert np.array_equal(found[120:], after[120:])
    assert len(joined(before[-120:], after[:5], 120)) == 5


def test_one_sample_before_is_enough() -> None:
    assert joined(np.zeros(1, np.float32), np.full(9, 0.5, np.float32), 5)[0] == 0


def test_a_level_is_that_of_speech() -> None:
    quiet = np.zeros(RATE_HZ, np.float32)
    level = speech_level(np.concatenate((quiet, tone(0.5), quiet)), RATE_HZ)
    assert level == pytest.approx(0.3 / np.sqrt(2), rel=0.01)
    assert speech_level(tone(0.5) + np.float32(0.2), RATE_HZ) == pytest.approx(level, rel=0.01)


@pytest.mark.parametrize("audio", [np.zeros(0, np.float32), np.zeros(RATE_HZ, np.float32)])
def test_silence_has_no_level(audio: Samples) -> None:
    assert speech_level(audio, RATE_HZ) is None


def test_a_word_has_no_level() -> None:
    assert speech_level(tone(0.15), RATE_HZ) is None


@pytest.mark.parametrize(
    ("loudness", "result"), [(0.3, 0.3), (0.15, 0.3), (0.6, 0.3), (0.27, 0.27), (0.05, 0.0998)]
)
def test_a_level_is_evened_out_within_bounds(loudness: float, result: float) -> None:
    audio = mended(tone(1, loudness), reference=0.3 / np.sqrt(2))
    assert np.abs(audio).max() == pytest.approx(result, rel=0.01)
    assert MOST_DB == 6.0


def test_only_the_first_chunk_is_corrected() -> None:
    """A voice may become softer towards the end of a sentence."""
    audio = mended(tone(1, 0.2), tone(1, 0.1), reference=0.3 / np.sqrt(2))
    assert np.abs(audio[:RATE_HZ]).max() == pytest.approx(0.3, rel=0.02)
    assert np.abs(audio[RATE_HZ + 300 :]).max() == pytest.approx(0.1, rel=0.02)


def test_a_first_chunk_too_short_to_judge_is_left() -> None:
    audio = mended(tone(0.1, 0.2), reference=0.3 / np.sqrt(2), streamed=False)
    assert np.abs(audio).max() == pytest.approx(0.2, rel=0.02)
