"""The engines on real weights, where there are some.

LEGATO_SHERPA_DIR names a model's folder, one that speaks or one that recognizes; what it hears is
the recording that comes with the voices extra. Run with
`pytest --opt-in tests/unit/engines/sherpa/test_weights.py -s`.
"""

import os
import resource
import sys
import time

import pytest

from legato.audio import AudioFormat
from legato.engines.base import Recognizer, Synthesizer
from legato.engines.sherpa.directory import RECOGNIZERS, SYNTHESIZERS, find
from legato.engines.sherpa.recognizer import SherpaRecognizer
from legato.engines.sherpa.synthesizer import SherpaSynthesizer
from legato.errors import EngineUnavailable
from legato.speech import RecognitionRequest, SynthesisRequest, Transcript
from legato.testing.synthesizers import close, seconds_to_close
from tests.unit.engines.recordings import FORMAT, beckett_pcm, chunks

DIR = os.environ.get("LEGATO_SHERPA_DIR", "")
TEXTS = {
    "zh": "今天天气很好，我们一起去公园散步吧，看看湖边的柳树和盛开的花。",
    "ja": "きょうはとてもいいてんきです。こうえんをさんぽしましょう。",
}
ENGLISH = "The quick brown fox jumps over the lazy dog, and then it goes home for a cup of tea."
REPEATS = 5

pytestmark = [
    pytest.mark.opt_in("needs real weights for sherpa-onnx: set LEGATO_SHERPA_DIR"),
    pytest.mark.timeout(1800),
]


def tell(figures: str) -> None:
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sys.stdout.write(f"\n{figures}, {memory:.0f} MB at most in this process\n")


def holds(kinds: str) -> bool:
    if not DIR:
        pytest.fail("LEGATO_SHERPA_DIR is not set", pytrace=False)
    try:
        find(DIR, SYNTHESIZERS if kinds == "speech" else RECOGNIZERS)
    except EngineUnavailable:
        return False
    return True


def test_it_speaks() -> None:
    if not holds("speech"):
        return
    engine: Synthesizer = SherpaSynthesizer(model_dir=DIR)
    begun = time.monotonic()
    engine.load()
    loading = time.monotonic() - begun
    pcm = engine.info.format or AudioFormat(24_000)
    text = TEXTS.get((engine.info.languages or ("en",))[0].partition("-")[0], ENGLISH)
    firsts, factors = [], []
    for _ in range(REPEATS):
        begun = time.monotonic()
        audio = engine.synthesize(SynthesisRequest(format=pcm), [text])
        samples = next(audio).samples
        firsts.append(time.monotonic() - begun)
        samples += sum(chunk.samples for chunk in audio)
        factors.append((time.monotonic() - begun) / pcm.seconds(samples))
        assert pcm.seconds(samples) > 2
    tell(
        f"{engine.info.version}: loaded in {loading:.1f} s, first audio {sorted(firsts)[2]:.2f} s,"
        f" RTF {sorted(factors)[2]:.3f} (medians of {REPEATS})"
    )
    audio = engine.synthesize(SynthesisRequest(format=pcm), [text] * 50)
    next(audio)
    assert seconds_to_close(audio) < 0.2
    close(audio)


def test_it_recognizes() -> None:
    if not holds("recognition"):
        return
    engine: Recognizer = SherpaRecognizer(model_dir=DIR)
    engine.load()
    pcm = beckett_pcm()
    begun = time.monotonic()
    request = RecognitionRequest(format=FORMAT)
    heard = [one for one in engine.recognize(request, chunks(pcm)) if isinstance(one, Transcript)]
    factor = (time.monotonic() - begun) / FORMAT.seconds(FORMAT.samples_in(pcm))
    finals = [one.text for one in heard if one.final]
    tell(f"{engine.info.version}: RTF {factor:.3f}, wrote {' | '.join(finals)}")
    assert len(finals) > 2
