"""Notes of a stream in Redis: fields of its record, so that they live and die with it."""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from legato.bus.base import Record, StreamKey
from legato.bus.logs import NOTES as MOST
from legato.bus.logs import check_note, check_notes
from legato.bus.redis.keys import StreamKeys
from legato.bus.redis.scripts import NOTE, NOTES
from legato.bus.redis.servers import Servers, ask
from legato.bus.redis.view import gone


def check_all(notes: Mapping[str, bytes]) -> list[str | bytes]:
    """Return the names and values in turn.

    Raises:
        ValueError: If there are too many, or one is too large.
    """
    check_notes(notes)
    for value in notes.values():
        check_note(value)
    return [part for pair in notes.items() for part in pair]


async def read_notes(servers: Servers, keys: StreamKeys, key: StreamKey) -> Mapping[str, Record]:
    """Return all notes by name; errors are those of the port's `Logs.notes`."""
    (reply,) = await ask(servers, keys.record, NOTES((keys.record,)))
    if not isinstance(reply, list):
        raise gone(key)
    return {
        name.decode(): Record(value, int(version))
        for name, version, value in zip(reply[::3], reply[1::3], reply[2::3], strict=True)
    }


async def write_note(
    servers: Servers,
    keys: StreamKeys,
    key: StreamKey,
    *,
    name: str,
    value: bytes,
    expected: int | None,
) -> bool:
    """Write one; result and errors are those of the port's `Logs.note`."""
    check_note(value)
    version = "" if expected is None else expected
    command = NOTE((keys.record,), name, value, secrets.token_hex(6), version, MOST)
    (reply,) = await ask(servers, keys.record, command)
    if reply is None:
        raise gone(key)
    if reply == -1:
        raise ValueError(f"stream {key.stream_id!r} has {MOST} notes, the limit")
    return reply == 1
