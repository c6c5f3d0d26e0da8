import numpy as np

from legato.audio import AudioFormat
from legato.engines.batching import BatchRecognizer, BatchSynthesizer
from legato.testing.engines import BatchRecognizerContract, BatchSynthesizerContract
from tests.standins.tone_bank import Hearing, Speaking, ToneBank, ToneReader


class TestToneBank(BatchSynthesizerContract):
    @classmethod
    def make_batch(cls) -> BatchSynthesizer[Speaking]:
        return ToneBank(units=64)


class TestToneReader(BatchRecognizerContract):
    hears_speech = False

    @classmethod
    def make_batch(cls) -> BatchRecognizer[Hearing]:
        return ToneReader(units=64)

    @classmethod
    def speech(cls, pcm: AudioFormat) -> bytes:
        rng = np.random.default_rng(5)
        return rng.integers(-9_000, 9_000, pcm.samples(4) * pcm.channels).astype("<i2").tobytes()
