"""The engine `piper` on the real package and a real voice, where there are both.

LEGATO_PIPER_VOICE names an `.onnx` file with its `.onnx.json` beside it. Run with
`pytest --opt-in -s tests/unit/engines/test_piper_weights.py`; it prints what docs/piper.md shows.
"""

import os
import resource
import statistics
import sys
import time
from collections.abc import Iterator

import pytest

from legato.audio import AudioFormat
from legato.engines.base import Synthesizer
from legato.engines.piper import Piper
from legato.speech import SynthesisRequest
from legato.testing.engines import SynthesizerContract

VOICE = os.environ.get("LEGATO_PIPER_VOICE", "")
SENTENCE = (
    "The quick brown fox jumps over the lazy dog while the old man reads his newspaper"
    " under a tall green tree."
)

pytestmark = [
    pytest.mark.opt_in("needs piper-tts and a voice of it: set LEGATO_PIPER_VOICE"),
    pytest.mark.timeout(600),
]


def real(**options: object) -> Iterator[Synthesizer]:
    if not VOICE:
        pytest.fail("LEGATO_PIPER_VOICE is not set", pytrace=False)
    engine = Piper(model=VOICE, **options)
    engine.load()
    yield engine
    engine.close()


class TestRealVoice(SynthesizerContract):
    @pytest.fixture(scope="class")
    @classmethod
    def engine(cls) -> Iterator[Synthesizer]:
        yield from real()


class TestRealVoiceWithoutNoise(SynthesizerContract):
    @pytest.fixture(scope="class")
    @classmethod
    def engine(cls) -> Iterator[Synthesizer]:
        yield from real(noise_scale=0, noise_w=0)


def test_what_it_costs() -> None:
    begun = time.perf_counter()
    engine = next(real())
    loaded = time.perf_counter() - begun
    first, whole, audio, longest = [], [], 0.0, 0.0
    request = SynthesisRequest(format=engine.info.format or AudioFormat(22_050))
    for _ in range(10):
        start = last = time.perf_counter()
        audio = 0.0
        for chunk in engine.synthesize(request, [SENTENCE]):
            now = time.perf_counter()
            if not audio:
                first.append(now - start)
            longest, last = max(longest, now - last), now
            audio += chunk.duration
        whole.append(time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    told = (
        f"load and warm up {loaded:.2f} s; load average {os.getloadavg()[0]:.1f}",
        f"first audio p50 / max {statistics.median(first):.3f} / {max(first):.3f} s",
        f"real-time factor {statistics.median(whole) / audio:.3f}, of {audio:.1f} s",
        f"longest wait between chunks {longest:.3f} s; peak memory {peak:.0f} MB",
        f"loudness {engine.info.voices[0].loudness_lufs}",
    )
    sys.stdout.write("\n" + "\n".join(told) + "\n")
    assert audio > 3
