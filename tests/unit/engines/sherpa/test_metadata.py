from pathlib import Path

import pytest

from legato.engines.sherpa.metadata import NotOnnx, metadata
from tests.unit.engines.sherpa import graphs


def test_a_model_tells_of_itself_without_being_loaded(tmp_path: Path) -> None:
    folder = graphs.kokoro(tmp_path)
    told = metadata(folder / "model.onnx")
    assert told["speaker_names"] == "af_tone,zm_tone"
    assert told["sample_rate"] == str(graphs.RATE_HZ)


def test_an_unfinished_download_is_seen(tmp_path: Path) -> None:
    model = graphs.kokoro(tmp_path) / "model.onnx"
    model.write_bytes(model.read_bytes()[:-20])
    with pytest.raises(NotOnnx, match="cut short"):
        metadata(model)


@pytest.mark.parametrize(
    "content",
    [
        b"version https://git-lfs.github.com/spec/v1\noid sha256:12\nsize 3\n",
        b"<html>404</html>",
        b"",
        b"\x08\x09",
        b"\xff" * 30,
    ],
)
def test_what_is_no_model_is_seen(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    with pytest.raises(NotOnnx):
        metadata(path)


def test_fields_of_every_type_are_stepped_over(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    graph, entry = b"\x3a\x01x", b"\x72\x06\x0a\x01a\x12\x01b"
    path.write_bytes(b"\x08\x09" + b"\x51" + bytes(8) + b"\x5d" + bytes(4) + graph + entry)
    assert metadata(path) == {"a": "b"}
