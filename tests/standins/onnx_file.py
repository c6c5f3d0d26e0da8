"""Small ONNX files, written without the package `onnx`: networks that hum.

Field numbers are those of onnx.proto (ONNX 1.17). Every token becomes a tone of its own for some
samples, so that what is said can be told from the sound.
"""

import struct
from collections.abc import Iterable
from pathlib import Path

FLOAT, INT64 = 1, 7
_OPSET = 17


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _block(field: int, value: bytes | str) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _attribute(name: str, value: int) -> bytes:
    return _block(1, name) + _number(3, value) + _number(20, 2)


def node(kind: str, takes: str, gives: str, **attributes: int) -> bytes:
    """A NodeProto; names are separated by blanks."""
    parts = [_block(1, name) for name in takes.split()]
    parts += [_block(2, name) for name in gives.split()]
    parts += [_block(4, kind)]
    parts += [_block(5, _attribute(name, value)) for name, value in attributes.items()]
    return b"".join(parts)


def constant(
    name: str, values: Iterable[float], *, whole: bool = False, scalar: bool = False
) -> bytes:
    """A TensorProto of one axis, or none."""
    items = list(values)
    shape = b"" if scalar else _number(1, len(items))
    raw = struct.pack(f"<{len(items)}{'q' if whole else 'f'}", *items)
    return shape + _number(2, INT64 if whole else FLOAT) + _block(8, name) + _block(9, raw)


def value(name: str, kind: int, *axes: int | str) -> bytes:
    """A ValueInfoProto."""
    shape = b"".join(
        _block(1, _number(1, axis) if isinstance(axis, int) else _block(2, axis)) for axis in axes
    )
    tensor = _number(1, kind) + _block(2, shape)
    return _block(1, name) + _block(2, _block(1, tensor))


def model(
    nodes: Iterable[bytes],
    *,
    constants: Iterable[bytes],
    inputs: Iterable[bytes],
    outputs: Iterable[bytes],
) -> bytes:
    """A ModelProto."""
    graph = b"".join(_block(1, one) for one in nodes) + _block(2, "hum")
    graph += b"".join(_block(5, one) for one in constants)
    graph += b"".join(_block(11, one) for one in inputs)
    graph += b"".join(_block(12, one) for one in outputs)
    return _number(1, 8) + _block(7, graph) + _block(8, _number(2, _OPSET))


_HUM = (
    # count: samples of a token, a scalar; pitches: [1, N, 1]; sound: [1, N, count].
    node("Round", "length", "rounded"),
    node("Cast", "rounded", "count", to=INT64),
    node("Range", "zero count one", "places"),
    node("Cast", "places", "steps", to=FLOAT),
    node("Unsqueeze", "ids last", "columns"),
    node("Cast", "columns", "pitches", to=FLOAT),
    node("Mul", "pitches steps", "turns"),
    node("Mul", "turns rate", "phases"),
    node("Sin", "phases", "waves"),
    node("Mul", "waves level", "sound"),
)
_CONSTANTS = (
    constant("zero", [0], whole=True, scalar=True),
    constant("one", [1], whole=True, scalar=True),
    constant("last", [2], whole=True),
    constant("rate", [0.01]),
    constant("level", [0.3]),
)


def piper_voice(path: Path, *, samples: int = 500) -> Path:
    """A voice of one speaker as Piper exports it; `samples` for each id at length_scale 1.

    Its noise is drawn anew in each call, as in VITS.
    """
    nodes = (
        node("Identity", "input", "ids"),
        node("Gather", "scales one", "length_scale"),
        node("Mul", "length_scale samples", "length"),
        *_HUM,
        node("Gather", "scales zero", "noise_scale"),
        node("RandomNormalLike", "sound", "noise"),
        node("Mul", "noise noise_scale", "louder"),
        node("Mul", "louder little", "hiss"),
        node("Add", "sound hiss", "heard"),
        node("Reshape", "heard shape", "output"),
    )
    constants = (
        *_CONSTANTS,
        constant("samples", [samples], scalar=True),
        constant("little", [0.01]),
        constant("shape", [1, 1, 1, -1], whole=True),
    )
    path.write_bytes(
        model(
            nodes,
            constants=constants,
            inputs=(
                value("input", INT64, 1, "N"),
                value("input_lengths", INT64, 1),
                value("scales", FLOAT, 3),
            ),
            outputs=(value("output", FLOAT, 1, 1, 1, "T"),),
        )
    )
    return path


def kokoro_model(path: Path, *, samples: int = 1200) -> Path:
    """Kokoro as it is exported; `samples` for each token at speed 1; `style` shifts the pitch."""
    nodes = (
        node("Squeeze", "speed", "pace"),
        node("Div", "samples pace", "length"),
        node("Identity", "tokens", "ids"),
        *_HUM[:5],
        node("Cast", "columns", "plain", to=FLOAT),
        node("ReduceMean", "style", "mean", keepdims=0),
        node("Add", "plain mean", "pitches"),
        *_HUM[6:],
        node("Reshape", "sound shape", "audio"),
    )
    constants = (
        *_CONSTANTS,
        constant("samples", [samples], scalar=True),
        constant("shape", [-1], whole=True),
    )
    path.write_bytes(
        model(
            nodes,
            constants=constants,
            inputs=(
                value("tokens", INT64, 1, "N"),
                value("style", FLOAT, 1, 256),
                value("speed", FLOAT, 1),
            ),
            outputs=(value("audio", FLOAT, "T"),),
        )
    )
    return path
