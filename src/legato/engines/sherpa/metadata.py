"""What an ONNX file says of itself, read without a runtime and without its weights.

A model's file is a protobuf message (onnx.proto) whose top level is walked; the graph is stepped
over.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

_GRAPH, _METADATA_PROPS = 7, 14
"""Numbers of fields of `ModelProto`."""

_KEY, _VALUE = 1, 2
_BYTES: Final = 2
"""Wire type of what has a length: text, bytes and messages."""

_LONGEST: Final = 1 << 20
"""Bytes of the longest entry that is read."""


_CUT: Final = "is cut short; download it again"
_OTHER: Final = "is no ONNX model; is it a pointer of Git LFS?"


class NotOnnx(ValueError):
    """A file that is no ONNX model, or only the beginning of one."""


def metadata(path: Path) -> dict[str, str]:
    """Return the metadata of a model.

    Raises:
        NotOnnx: If the file is something else, or cut short.
    """
    try:
        with path.open("rb") as file:
            return _read(file, path.stat().st_size)
    except NotOnnx as error:
        raise NotOnnx(f"{path.name} {error}") from error


def _read(file: BinaryIO, size: int) -> dict[str, str]:
    found: dict[str, str] = {}
    graph = False
    for field, kind, length in _fields(file, size):
        graph |= field == _GRAPH and kind == _BYTES
        if field == _METADATA_PROPS and kind == _BYTES and length <= _LONGEST:
            key, value = _entry(file, file.tell() + length)
            found[key] = value
        else:
            file.seek(length, 1)
    if file.tell() != size:
        raise NotOnnx(_CUT)
    if not graph:
        raise NotOnnx(_OTHER)
    return found


def _fields(file: BinaryIO, end: int) -> Iterator[tuple[int, int, int]]:
    """Yield number, wire type and length of the fields up to `end`; the reader steps over them."""
    while file.tell() < end:
        tag = _varint(file)
        kind = tag & 7
        match kind:
            case 2:
                yield tag >> 3, kind, _varint(file)
            case 0:
                _varint(file)
                yield tag >> 3, kind, 0
            case 1:
                yield tag >> 3, kind, 8
            case 5:
                yield tag >> 3, kind, 4
            case _:
                raise NotOnnx(_OTHER)


def _entry(file: BinaryIO, end: int) -> tuple[str, str]:
    texts = {_KEY: "", _VALUE: ""}
    for field, kind, length in _fields(file, end):
        content = file.read(length)
        if kind == _BYTES and field in texts:
            texts[field] = content.decode("utf-8", "replace")
    return texts[_KEY], texts[_VALUE]


def _varint(file: BinaryIO) -> int:
    number = 0
    for shift in range(0, 70, 7):
        byte = file.read(1)
        if not byte:
            raise NotOnnx(_CUT)
        number |= (byte[0] & 0x7F) << shift
        if byte[0] < 0x80:
            return number
    raise NotOnnx(_OTHER)
