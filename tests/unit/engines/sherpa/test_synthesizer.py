"""The real sherpa-onnx on synthetic models."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from legato.audio import AudioFormat, to_float
from legato.engines.sherpa.synthesizer import SherpaSynthesizer
from legato.errors import EngineUnavailable, UnknownVoice, UnsupportedText
from legato.speech import SynthesisRequest
from tests.unit.engines.sherpa import graphs


def made(folder: Path, **options: object) -> SherpaSynthesizer:
    engine = SherpaSynthesizer(model_dir=str(folder), **options)
    engine.load()
    return engine


def say(
    engine: SherpaSynthesizer, text: str, *, voice: str | None = None, speed: float = 1.0
) -> NDArray[np.float32]:
    assert engine.info.format is not None
    request = SynthesisRequest(format=engine.info.format, voice=voice, speed=speed)
    return to_float(b"".join(chunk.pcm for chunk in engine.synthesize(request, [text])))


def pitch(audio: NDArray[np.float32]) -> float:
    """Return the strongest frequency of the first token, in Hz."""
    spectrum = np.abs(np.fft.rfft(audio[: graphs.TOKEN_SAMPLES], graphs.RATE_HZ))
    return float(np.argmax(spectrum))


@pytest.mark.parametrize("model", [graphs.lexicon_vits, graphs.kokoro])
def test_voices_are_the_speakers_of_the_model(
    tmp_path: Path, model: Callable[[Path], Path]
) -> None:
    engine = made(model(tmp_path))
    text = "hello" if model is graphs.kokoro else "你好"
    pitches = [pitch(say(engine, text, voice=voice.name)) for voice in engine.info.voices]
    assert pitches == sorted(pitches)
    assert pitches[1] == pytest.approx(1.2 * pitches[0], rel=0.05)


def test_the_operator_names_voices_and_the_default(tmp_path: Path) -> None:
    engine = made(graphs.lexicon_vits(tmp_path), voices=("anna", "ben"), voice="ben")
    assert [voice.name for voice in engine.info.voices] == ["ben", "anna", "speaker-2"]
    assert np.array_equal(say(engine, "你好"), say(engine, "你好", voice="ben"))
    assert pitch(say(engine, "你好")) > 1.1 * pitch(say(engine, "你好", voice="anna"))
    with pytest.raises(EngineUnavailable, match="'carl' is none"):
        SherpaSynthesizer(model_dir=str(tmp_path), voice="carl")
    with pytest.raises(UnknownVoice, match="ben, speaker-2"):
        say(engine, "你好", voice="7")


def test_speed_is_the_models(tmp_path: Path) -> None:
    engine = made(graphs.matcha(tmp_path))
    assert len(say(engine, "你好", speed=0.5)) == 4 * len(say(engine, "你好", speed=2.0))


def test_a_word_that_is_not_in_the_lexicon_is_heard(tmp_path: Path) -> None:
    engine = made(graphs.kokoro(tmp_path))
    assert len(say(engine, "xyzzy")) > len(say(engine, "x"))


def test_what_the_model_would_leave_out_is_refused_before_anything_is_heard(
    tmp_path: Path,
) -> None:
    folder = graphs.lexicon_vits(tmp_path)
    (folder / "lexicon.txt").write_text("你好 n i3 h ao3\n", encoding="utf-8")
    engine = made(folder)
    with pytest.raises(UnsupportedText) as raised:
        say(engine, "你好。你们好。")
    assert raised.value.characters == "们"


@pytest.mark.requires("espeak-ng")
def test_pipers_voices_get_phonemes(tmp_path: Path) -> None:
    engine = made(graphs.piper(tmp_path))
    assert len(say(engine, "Good morning.")) > len(say(engine, "Good.")) > 0
    assert engine.info.languages == ("en",)


def test_a_sentence_is_heard_before_the_next_is_made(tmp_path: Path) -> None:
    engine = made(graphs.lexicon_vits(tmp_path))
    assert engine.info.format is not None
    chunks = engine.synthesize(
        SynthesisRequest(format=engine.info.format), ["你好。今天天气很好。" * 50]
    )
    first = next(chunks)
    assert first.sample == 0
    assert first.duration <= 0.1


def test_speakers_that_are_not_all_there_are_found_before_loading(tmp_path: Path) -> None:
    voices = graphs.kokoro(tmp_path) / "voices.bin"
    voices.write_bytes(voices.read_bytes()[:-4])
    with pytest.raises(EngineUnavailable, match=r"voices\.bin has .* bytes instead of"):
        SherpaSynthesizer(model_dir=str(tmp_path)).check()


def test_a_vocoder_may_lie_elsewhere(tmp_path: Path) -> None:
    folder = graphs.matcha(tmp_path / "matcha")
    vocoder = shutil.move(folder / "hifigan_v2.onnx", tmp_path / "vocoder.onnx")
    assert len(say(made(folder, vocoder=str(vocoder)), "你好"))


def test_without_a_model_it_says_what_it_wants(tmp_path: Path) -> None:
    engine = SherpaSynthesizer()
    with pytest.raises(EngineUnavailable, match="model_dir is not set"):
        engine.check()
    with pytest.raises(EngineUnavailable, match="not loaded"):
        next(engine.synthesize(SynthesisRequest(format=AudioFormat(graphs.RATE_HZ)), ["a"]))
    with pytest.raises(EngineUnavailable, match="holds no model"):
        SherpaSynthesizer(model_dir=str(tmp_path)).load()
