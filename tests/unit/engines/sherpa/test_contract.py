"""The contract of engines, kept by the real sherpa-onnx on synthetic models."""

import tempfile
from functools import lru_cache
from pathlib import Path

from legato.audio import AudioFormat
from legato.engines.base import Recognizer, Synthesizer
from legato.engines.sherpa.recognizer import SherpaRecognizer
from legato.engines.sherpa.synthesizer import SherpaSynthesizer
from legato.testing.engines import RecognizerContract, SynthesizerContract
from tests.unit.engines.recordings import beckett_pcm
from tests.unit.engines.sherpa import graphs


@lru_cache
def models() -> Path:
    return Path(tempfile.mkdtemp(prefix="legato-sherpa-"))


class _Hears(RecognizerContract):
    @classmethod
    def speech(cls, pcm: AudioFormat) -> bytes:
        assert pcm == AudioFormat(16_000)
        return beckett_pcm()


class TestStreamingCtc(_Hears):
    @classmethod
    def make(cls) -> Recognizer:
        return SherpaRecognizer(model_dir=str(graphs.streaming_ctc(models() / "ctc")))


class TestStreamingTransducer(_Hears):
    @classmethod
    def make(cls) -> Recognizer:
        return SherpaRecognizer(model_dir=str(graphs.streaming_transducer(models() / "transducer")))


class TestSenseVoice(_Hears):
    @classmethod
    def make(cls) -> Recognizer:
        return SherpaRecognizer(model_dir=str(graphs.sense_voice(models() / "sense-voice")))


class TestPiper(SynthesizerContract):
    @classmethod
    def make(cls) -> Synthesizer:
        return SherpaSynthesizer(model_dir=str(graphs.piper(models() / "piper")))


class TestKokoro(SynthesizerContract):
    @classmethod
    def make(cls) -> Synthesizer:
        return SherpaSynthesizer(model_dir=str(graphs.kokoro(models() / "kokoro")))


class _Chinese(SynthesizerContract):
    text = ("你好，今天天气很好。", "天气好，你好。", "今天你好。", "你好。")


class TestVits(_Chinese):
    @classmethod
    def make(cls) -> Synthesizer:
        return SherpaSynthesizer(model_dir=str(graphs.lexicon_vits(models() / "vits")))


class TestMatcha(_Chinese):
    @classmethod
    def make(cls) -> Synthesizer:
        return SherpaSynthesizer(model_dir=str(graphs.matcha(models() / "matcha")))
