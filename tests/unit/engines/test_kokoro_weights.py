"""The engine `kokoro-onnx` on the real package and real weights, where there are both.

LEGATO_KOKORO_MODEL names the network, LEGATO_KOKORO_VOICES the file of voices, and
LEGATO_KOKORO_VOICE one of them, which speaks American English here. Run with
`pytest --opt-in -s tests/unit/engines/test_kokoro_weights.py`; it prints what docs/kokoro.md shows.
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
from legato.engines.kokoro import Kokoro
from legato.speech import SynthesisRequest
from legato.testing.engines import SynthesizerContract

MODEL = os.environ.get("LEGATO_KOKORO_MODEL", "")
VOICES = os.environ.get("LEGATO_KOKORO_VOICES", "")
VOICE = os.environ.get("LEGATO_KOKORO_VOICE", "af_heart")
SENTENCE = (
    "The quick brown fox jumps over the lazy dog while the old man reads his newspaper"
    " under a tall green tree."
)

pytestmark = [
    pytest.mark.opt_in("needs kokoro-onnx and its weights: set LEGATO_KOKORO_MODEL"),
    pytest.mark.timeout(900),
]


def real(**options: object) -> Iterator[Synthesizer]:
    if not MODEL or not VOICES:
        pytest.fail("LEGATO_KOKORO_MODEL or LEGATO_KOKORO_VOICES is not set", pytrace=False)
    engine = Kokoro(model=MODEL, voices=VOICES, languages={VOICE: "en-US"}, voice=VOICE, **options)
    engine.load()
    yield engine
    engine.close()


class TestRealWeights(SynthesizerContract):
    text = ("Good morning.", "Thank you all.", "Goodbye for now.")

    @pytest.fixture(scope="class")
    @classmethod
    def engine(cls) -> Iterator[Synthesizer]:
        yield from real()


@pytest.mark.parametrize("threads", [1, 2])
def test_what_it_costs(threads: int) -> None:
    begun = time.perf_counter()
    engine = next(real(threads=threads))
    loaded = time.perf_counter() - begun
    first, whole, audio, longest = [], [], 0.0, 0.0
    request = SynthesisRequest(format=engine.info.format or AudioFormat(24_000))
    for _ in range(3):
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
        f"{threads} threads; load and warm up {loaded:.2f} s; load {os.getloadavg()[0]:.1f}",
        f"first audio p50 / max {statistics.median(first):.3f} / {max(first):.3f} s",
        f"real-time factor {statistics.median(whole) / audio:.3f}, of {audio:.1f} s",
        f"longest wait between chunks {longest:.3f} s; peak memory {peak:.0f} MB",
        f"loudness {engine.info.voices[0].loudness_lufs}",
    )
    sys.stdout.write("\n" + "\n".join(told) + "\n")
    assert audio > 3
