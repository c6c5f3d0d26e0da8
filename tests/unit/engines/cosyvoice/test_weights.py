"""The engine on real weights, where there are some.

LEGATO_COSYVOICE_DIR names the model's folder and LEGATO_COSYVOICE_SOURCE a checkout of CosyVoice,
if it is not on the path; a model without speakers takes the prompt of the checkout. Run with
`pytest --opt-in tests/unit/engines/cosyvoice/test_weights.py -s`.
"""

import os
import sys
import time
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import numpy as np
import pytest

from legato.audio import to_float
from legato.engines.base import Synthesizer
from legato.engines.cosyvoice.engine import CosyVoice
from legato.engines.cosyvoice.sound import speech_level
from legato.testing.synthesizers import close, seconds_to_close
from tests.unit.engines.cosyvoice.stage import TRANSCRIPT, request, spoken

DIR = os.environ.get("LEGATO_COSYVOICE_DIR", "")
SOURCE = os.environ.get("LEGATO_COSYVOICE_SOURCE", "")
TEXT = "今天天气很好，我们一起去公园散步吧，看看湖边的柳树和盛开的花。 Then we had some tea."

pytestmark = [
    pytest.mark.opt_in("needs real weights of CosyVoice: set LEGATO_COSYVOICE_DIR"),
    pytest.mark.timeout(1800),
]


@pytest.fixture(scope="module")
def engine() -> Iterator[Synthesizer]:
    if not DIR:
        pytest.fail("LEGATO_COSYVOICE_DIR is not set", pytrace=False)
    options: dict[str, object] = {"model_dir": DIR, "source_dir": SOURCE, "mode": "sft"}
    wav = Path(SOURCE, "asset", "zero_shot_prompt.wav")
    if not Path(DIR, "cosyvoice.yaml").is_file():
        prompt = {"name": "asset", "wav": str(wav), "text": TRANSCRIPT}
        options |= {"mode": "zero_shot", "prompts": [prompt]}
    engine = CosyVoice(**options, progress_timeout=300.0)
    engine.load()
    yield engine
    engine.close()


def tell(figure: str) -> None:
    sys.stdout.write(f"\n{figure}\n")


def test_it_speaks(engine: CosyVoice) -> None:
    start = time.monotonic()
    chunks = engine.synthesize(request(engine), [TEXT])
    pcm = [next(chunks).pcm]
    first = time.monotonic() - start
    pcm += [chunk.pcm for chunk in chunks]
    audio = to_float(b"".join(pcm))
    assert engine.info.format is not None
    rate_hz = engine.info.format.sample_rate
    seconds = len(audio) / rate_hz
    tell(f"first audio {first:.2f} s, RTF {(time.monotonic() - start) / seconds:.2f}")
    assert 4 < seconds < 30
    level = speech_level(audio, rate_hz)
    assert level is not None
    tail = audio[-round(0.04 * rate_hz) :]
    tell(f"last 40 ms: {20 * np.log10(max(float(tail.std()), 1e-6) / level):.0f} dB from speech")
    assert abs(float(audio[-1])) < 0.05


def test_later_streams_begin_as_soon_as_the_first(engine: CosyVoice) -> None:
    waits = []
    for _ in range(4):
        start = time.monotonic()
        chunks = engine.synthesize(request(engine), [TEXT])
        next(chunks)
        waits.append(time.monotonic() - start)
        close(chunks)
    tell(f"first audio of four streams: {', '.join(f'{wait:.2f}' for wait in waits)} s")
    assert waits[-1] < 2 * waits[1]


def test_a_closed_stream_frees_the_model_and_leaves_nothing(engine: CosyVoice) -> None:
    for _ in range(3):
        chunks = engine.synthesize(request(engine), cycle([TEXT]))
        next(chunks)
        assert seconds_to_close(chunks) < 0.2
    assert len(spoken(engine, "好的。"))
    stable = engine._stable  # noqa: SLF001  what the model keeps is looked at from behind
    assert stable is not None
    kept = vars(stable.speakers[0].model).items()
    assert {name: value for name, value in kept if isinstance(value, dict) and value} == {}


def test_speed_is_obeyed(engine: CosyVoice) -> None:
    slow, fast = (len(spoken(engine, TEXT, speed=speed)) for speed in (0.7, 1.5))
    assert slow > 1.5 * fast
