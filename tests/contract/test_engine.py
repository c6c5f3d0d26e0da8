import importlib.util
from functools import lru_cache
from pathlib import Path

import av
import pytest

from legato.audio import AudioFormat
from legato.engines.base import Recognizer, Synthesizer
from legato.engines.espeak import Espeak
from legato.engines.hibari import Hibari
from legato.engines.moonshine import Moonshine
from legato.engines.tone import ToneRecognizer, ToneSynthesizer
from legato.testing.engines import RecognizerContract, SynthesizerContract


@lru_cache
def beckett(pcm: AudioFormat) -> bytes:
    """Ten seconds of a man who says six short sentences; it comes with the voices extra."""
    spec = importlib.util.find_spec("moonshine_voice")
    assert spec is not None
    assert spec.origin is not None
    resampler = av.AudioResampler(
        format="s16", layout="mono" if pcm.channels == 1 else "stereo", rate=pcm.sample_rate
    )
    with av.open(Path(spec.origin).parent / "assets" / "beckett.wav") as file:
        frames = [*file.decode(audio=0), None]
        parts = [part for frame in frames for part in resampler.resample(frame)]
    return b"".join(part.to_ndarray().tobytes() for part in parts)


class TestToneSynthesizer(SynthesizerContract):
    @classmethod
    def make(cls) -> Synthesizer:
        return ToneSynthesizer()


class TestHibari(SynthesizerContract):
    @classmethod
    def make(cls) -> Synthesizer:
        return Hibari()


@pytest.mark.requires("espeak-ng")
class TestEspeak(SynthesizerContract):
    @classmethod
    def make(cls) -> Synthesizer:
        return Espeak()


class TestToneRecognizer(RecognizerContract):
    hears_speech = False

    @classmethod
    def make(cls) -> Recognizer:
        return ToneRecognizer()

    @classmethod
    def speech(cls, pcm: AudioFormat) -> bytes:
        return beckett(pcm)


class TestMoonshine(RecognizerContract):
    @classmethod
    def make(cls) -> Recognizer:
        return Moonshine()

    @classmethod
    def speech(cls, pcm: AudioFormat) -> bytes:
        return beckett(pcm)
