"""The engine `faster-whisper` on a real model, where there is one.

LEGATO_WHISPER_MODEL names its folder. Run with
`pytest --opt-in tests/unit/engines/test_whisper_weights.py`; `scripts/measure_engines.py` measures.
"""

import os
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from legato.audio import AudioFormat
from legato.engines.base import Checkpoint, Recognizer
from legato.engines.whisper import Whisper
from legato.engines.whisper_model import Config, Manner, WhisperModel
from legato.speech import RecognitionRequest, Transcript
from legato.testing.engines import RecognizerContract
from tests.unit.engines.recordings import FORMAT, beckett, beckett_pcm, chunks, librivox

MODEL = os.environ.get("LEGATO_WHISPER_MODEL", "")

pytestmark = [
    pytest.mark.opt_in("needs a model of faster-whisper: set LEGATO_WHISPER_MODEL"),
    pytest.mark.timeout(600),
]


class TestRealModel(RecognizerContract):
    @pytest.fixture(scope="class")
    @classmethod
    def engine(cls) -> Iterator[Recognizer]:
        yield from real()

    @classmethod
    def speech(cls, pcm: AudioFormat) -> bytes:
        assert pcm == FORMAT
        return beckett_pcm()


def real() -> Iterator[Whisper]:
    if not MODEL:
        pytest.fail("LEGATO_WHISPER_MODEL is not set", pytrace=False)
    engine = Whisper(model=MODEL, device="cpu", threads=1)
    engine.load()
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def engine() -> Iterator[Whisper]:
    yield from real()


def finals(engine: Whisper, request: RecognitionRequest) -> list[Transcript]:
    results = engine.recognize(request, chunks(beckett_pcm()))
    return [result for result in results if not isinstance(result, Checkpoint) and result.final]


def test_words_are_those_of_the_text_and_lie_in_order(engine: Whisper) -> None:
    for heard in finals(engine, RecognitionRequest(format=FORMAT)):
        assert "".join(word.text for word in heard.words) == heard.text.replace(" ", "")
        starts = [word.start for word in heard.words]
        assert starts == sorted(starts)


@pytest.mark.requires("pocketsphinx-testdata")
def test_hotwords_change_how_a_name_is_written(engine: Whisper) -> None:
    clip = next(pcm for _, pcm, text in librivox() if "john dashwood" in text)
    request = RecognitionRequest(format=FORMAT)
    assert "John Dashwood " in written(engine, request, clip)
    favoured = replace(request, hotwords=("Jon Dashwoode",))
    assert "Jon Dashwoode " in written(engine, favoured, clip)


def written(engine: Whisper, request: RecognitionRequest, pcm: bytes) -> str:
    results = engine.recognize(request, chunks(pcm))
    heard = [result for result in results if isinstance(result, Transcript) and result.final]
    return " ".join(transcript.text for transcript in heard)


def test_figures_can_be_kept_out(engine: Whisper) -> None:
    assert engine.info.languages
    model = WhisperModel(Config(model=MODEL, device="cpu"))
    written = model.write(beckett(), Manner(language="en", figures=False))
    assert written.text
    assert not any(char.isdigit() for char in written.text)


@pytest.mark.parametrize("level", [0.0, 0.001, 0.01, 0.1])
def test_noise_without_speech_is_not_written(engine: Whisper, level: float) -> None:
    rng = np.random.default_rng(7)
    noise = (rng.normal(0.0, level, 80_000).clip(-1, 1) * 32_767).astype("<i2").tobytes()
    results = list(engine.recognize(RecognitionRequest(format=FORMAT), chunks(noise)))
    assert not [result for result in results if isinstance(result, Transcript)]
