from pathlib import Path

import numpy as np
import pytest

from legato.audio import Codec, PayloadFormat
from legato.bench.benchmark import Setup
from legato.bench.wire_codecs import FIGURES, FORMATS, code, measure_clips, name_of

PCM = np.random.default_rng(1).integers(-9_000, 9_000, 16_000).astype("<i2").tobytes()


@pytest.mark.parametrize("form", FORMATS, ids=name_of)
def test_a_codec_has_a_payload_for_every_frame(form: PayloadFormat) -> None:
    coded = code(form, PCM)
    size = form.frame_samples * 2
    assert len(coded.payloads) == -(-len(PCM) // size)
    if form.codec is not Codec.OPUS:
        width = 1 if form.codec is Codec.MULAW else 2
        assert sum(map(len, coded.payloads)) == len(PCM) // 2 * width
    assert coded.encode_us > 0
    assert coded.decode_us > 0


async def test_without_speech_nothing_is_measured(tmp_path: Path) -> None:
    rows = await measure_clips(Setup(quick=True, tell=lambda _: None), tmp_path / "nowhere")
    assert [row.name for row in rows] == [figure.name for figure in FIGURES]
    assert {row.verdict for row in rows} == {"not measured"}
