"""What is stored and pushed: msgpack, written and read in one pass, payloads as they are.

An audio frame is an array, every other item a map with its type; an entry is the array of its
items. Later versions may append to the arrays and add fields to the maps: both are passed over.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from legato.bus.base import Job, StreamKey
from legato.bus.items import Committed, Item
from legato.errors import Internal
from legato.flow.places import Struck
from legato.protocol.media import AudioFrame
from legato.protocol.messages import (
    Cancel,
    Error,
    Finalize,
    Flush,
    Notice,
    StreamEnd,
    StreamStart,
    SwitchDown,
    SwitchUp,
    Text,
    Transcript,
    UtteranceEnd,
)

_Frame = tuple[Any, ...]
"""Payload, seq, last, sample, epoch, utterance."""

_Stored = (
    _Frame
    | Text
    | Flush
    | Finalize
    | Cancel
    | StreamEnd
    | SwitchDown
    | SwitchUp
    | Transcript
    | UtteranceEnd
    | Error
    | Notice
    | Committed
    | Struck
)

Pushed = tuple[int, int, str, list[msgspec.Raw]]
"""Whom it is for, the number of the first entry, token of the log, entries as they are stored."""

Delivered = tuple[int, int, str, list[tuple[Item, ...]]]
"""Whom it is for, the number of the first entry, token of the log, the items of each."""


class Push(msgspec.Struct, array_like=True, omit_defaults=True):
    """What one process tells another, gathered over a turn of the loop.

    Attributes:
        entries: What was stored in logs that the other reads.
        looks: Readers and writers that should look at their logs.
        engines: Engines that a job waits for.
        probes: Numbers that a process sends to itself.
    """

    entries: list[Pushed] = []
    looks: list[int] = []
    engines: list[str] = []
    probes: list[int] = []


class _Decoded(msgspec.Struct, array_like=True):
    entries: list[tuple[int, int, str, list[list[_Stored]]]] = []
    looks: list[int] = []
    engines: list[str] = []
    probes: list[int] = []


class _Job(msgspec.Struct, array_like=True):
    tenant: str
    stream_id: str
    engine: str
    start: StreamStart
    seed: int = 0


_encode = msgspec.msgpack.Encoder().encode
_decode_entry = msgspec.msgpack.Decoder(list[_Stored]).decode
_decode_push = msgspec.msgpack.Decoder(Push).decode
_decode_whole = msgspec.msgpack.Decoder(_Decoded).decode
_decode_job = msgspec.msgpack.Decoder(_Job).decode


def encode_entry(items: Iterable[Item]) -> bytes:
    """Return the items of an entry as they are stored."""
    return _encode(
        [
            (item.payload, item.seq, item.last, item.sample, item.epoch, item.utterance)
            if type(item) is AudioFrame
            else item
            for item in items
        ]
    )


def decode_entry(data: bytes | msgspec.Raw) -> tuple[Item, ...]:
    """Read an entry.

    Raises:
        Internal: If it holds what this version does not know.
    """
    try:
        return _items(_decode_entry(data))
    except (msgspec.DecodeError, TypeError, IndexError) as error:
        raise Internal(f"an entry of the log is not understood: {error}") from error


def encode_push(push: Push) -> bytes:
    """Return what is to be pushed."""
    return _encode(push)


def decode_push(data: bytes) -> tuple[Sequence[Delivered], Push]:
    """Read what was pushed: the entries, and the rest.

    Raises:
        Internal: If it is no push.
    """
    try:
        whole = _decode_whole(data)
        entries = [
            (handle, first, token, [_items(entry) for entry in entries])
            for handle, first, token, entries in whole.entries
        ]
        return entries, Push([], whole.looks, whole.engines, whole.probes)
    except (msgspec.DecodeError, TypeError, IndexError):
        pass
    # One entry that this version does not know spoils them all; who is meant will look at the log.
    try:
        push = _decode_push(data)
    except msgspec.DecodeError as error:
        raise Internal(f"a push is not understood: {error}") from error
    return (), Push([], [*push.looks, *(p[0] for p in push.entries)], push.engines, push.probes)


def encode_job(job: Job) -> bytes:
    """Return a job as it waits in the queue."""
    return _encode(_Job(job.key.tenant, job.key.stream_id, job.engine, job.start, job.seed))


def decode_job(data: bytes) -> Job:
    """Read a job.

    Raises:
        Internal: If this version does not understand it.
    """
    try:
        job = _decode_job(data)
    except msgspec.DecodeError as error:
        raise Internal(f"a job is not understood: {error}") from error
    key = StreamKey(job.tenant, job.stream_id)
    return Job(key=key, engine=job.engine, start=job.start, seed=job.seed)


def _items(stored: Sequence[_Stored]) -> tuple[Item, ...]:
    return tuple(
        [
            AudioFrame(item[0], item[1], item[2], 0, item[3], item[4], item[5])
            if isinstance(item, tuple)
            else item
            for item in stored
        ]
    )
