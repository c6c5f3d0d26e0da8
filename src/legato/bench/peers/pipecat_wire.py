"""The two messages of pipecat's frames.proto that an echo needs, read and written by hand.

`Frame { oneof frame { … AudioRawFrame audio = 2; … } }`, `AudioRawFrame { uint64 id = 1; string
name = 2; bytes audio = 3; uint32 sample_rate = 4; uint32 num_channels = 5; optional uint64 pts =
6; }` (pipecat 1.14.0). Its own generated module is not at hand here, and a second definition of
its package in this process would not be worth it.
"""

from __future__ import annotations

from collections.abc import Iterator

_VARINT = 0
_DELIMITED = 2
_FIXED = {1: 8, 5: 4}
_MORE = 0x80

_FRAME_AUDIO = 2
_AUDIO_PCM = 3
_AUDIO_RATE = 4
_AUDIO_CHANNELS = 5


def audio_message(pcm: bytes, *, sample_rate: int, channels: int) -> bytes:
    """Return a `Frame` that holds audio."""
    audio = (
        _delimited(_AUDIO_PCM, pcm)
        + _number(_AUDIO_RATE, sample_rate)
        + _number(_AUDIO_CHANNELS, channels)
    )
    return _delimited(_FRAME_AUDIO, audio)


def audio_bytes_in(message: bytes) -> int:
    """Return how many bytes of audio a `Frame` holds, 0 if it is of another kind.

    Raises:
        ValueError: If it is no protobuf message.
    """
    for number, frame in _fields(message):
        if number == _FRAME_AUDIO:
            return sum(len(data) for inner, data in _fields(frame) if inner == _AUDIO_PCM)
    return 0


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= _MORE:
        out.append(value & 0x7F | _MORE)
        value >>= 7
    out.append(value)
    return bytes(out)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3 | _VARINT) + _varint(value)


def _delimited(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | _DELIMITED) + _varint(len(data)) + data


def _fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield number and content of the length-delimited fields, passing over all others."""
    at = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        kind = tag & 7
        if kind == _VARINT:
            _, at = _read_varint(data, at)
        elif kind == _DELIMITED:
            size, at = _read_varint(data, at)
            if at + size > len(data):
                raise ValueError("the message is cut short")
            yield tag >> 3, data[at : at + size]
            at += size
        elif kind in _FIXED:
            at += _FIXED[kind]
        else:
            raise ValueError(f"wire type {kind} is not protobuf's")


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < _MORE:
            return value, at
        shift += 7
    raise ValueError("the message is cut short")
