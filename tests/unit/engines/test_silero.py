import numpy as np
import pytest
from numpy.typing import NDArray

from legato.engines.silero import SAMPLE_RATE_HZ, WINDOW, Silero, SpeechProbability
from tests.unit.engines.recordings import beckett

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def silero() -> Silero:
    return Silero()


def probabilities(silero: Silero, audio: NDArray[np.float32]) -> list[float]:
    stream = SpeechProbability(silero)
    windows = range(0, len(audio) - WINDOW + 1, WINDOW)
    return [stream.accept(audio[at : at + WINDOW]) for at in windows]


def test_speech_is_told_from_the_pauses_in_it(silero: Silero) -> None:
    heard = probabilities(silero, beckett())
    seconds = [at * WINDOW / SAMPLE_RATE_HZ for at in range(len(heard))]
    speech = [p for at, p in zip(seconds, heard, strict=True) if 0.6 < at < 1.1]
    pause = [p for at, p in zip(seconds, heard, strict=True) if at < 0.3]
    assert min(speech) > 0.8
    assert max(pause) < 0.2


def test_silence_noise_and_tones_are_no_speech(silero: Silero) -> None:
    second = SAMPLE_RATE_HZ
    noise = np.random.default_rng(0).standard_normal(second).astype(np.float32) * 0.1
    tone = (0.5 * np.sin(np.arange(second) * 2 * np.pi * 440 / second)).astype(np.float32)
    for audio in (np.zeros(second, np.float32), noise, tone):
        assert max(probabilities(silero, audio)) < 0.3


def test_streams_share_the_network_but_no_state(silero: Silero) -> None:
    audio = beckett()[: 2 * SAMPLE_RATE_HZ]
    alone = probabilities(silero, audio)
    first, second = SpeechProbability(silero), SpeechProbability(silero)
    mixed = []
    for at in range(0, len(audio) - WINDOW + 1, WINDOW):
        mixed.append(first.accept(audio[at : at + WINDOW]))
        second.accept(audio[at : at + WINDOW][::-1].copy())
    assert mixed == alone


def test_after_a_reset_everything_is_heard_as_at_the_start(silero: Silero) -> None:
    audio = beckett()[:SAMPLE_RATE_HZ]
    stream = SpeechProbability(silero)
    windows = [audio[at : at + WINDOW] for at in range(0, len(audio) - WINDOW + 1, WINDOW)]
    before = [stream.accept(window) for window in windows]
    stream.reset()
    assert [stream.accept(window) for window in windows] == before
