"""Which gateway has a stream: one at a time, and whoever's client comes may take it."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from legato.bus.base import NOTE_BYTES, Logs, Record, StreamKey
from legato.errors import BusUnavailable, MessageTooLarge, SessionExpired
from legato.gateway.catalog import Choice
from legato.gateway.notes import STREAM, StreamNote, digest, encode, stream_note
from legato.protocol.messages import StreamStart

RACES: Final = 5
"""Times that others may take a stream between two commands before that fails."""

ROOM_BYTES: Final = 128
"""What a stream's note may grow by: a second token and a larger attachment."""

Admits = Callable[[StreamNote, Mapping[str, Record]], bool]
"""Tells from a stream's notes whether it may be taken."""


class Custody:
    """One gateway's way to have streams.

    Args:
        logs: Of the bus.

    Attributes:
        name: Of this gateway, nobody else's.
    """

    def __init__(self, logs: Logs) -> None:
        self.name = secrets.token_hex(8)
        self._logs = logs

    def opening(self, start: StreamStart, choice: Choice, token: str) -> Mapping[str, bytes]:
        """Return the notes of a stream that begins here; `token` resumes it.

        Raises:
            MessageTooLarge: If its parameters do not fit into a note.
        """
        note = StreamNote(
            start=start,
            engine=choice.engine,
            voice=choice.voice,
            gateway=self.name,
            attachment=0,
            tokens=(digest(token),),
        )
        encoded = encode(note)
        # The names of gateways have one length; the attachment and a second token come later.
        if len(encoded) > NOTE_BYTES - ROOM_BYTES:
            raise MessageTooLarge(
                f"a start of {len(encoded)} bytes is above {NOTE_BYTES - ROOM_BYTES}:"
                " shorten its options"
            )
        return {STREAM: encoded}

    async def take(
        self, key: StreamKey, admits: Admits, *, tokens: tuple[str, ...]
    ) -> tuple[StreamNote, str] | None:
        """Have the stream from now on, if it `admits` that.

        Args:
            key: The stream.
            admits: Decides by what is there.
            tokens: What resumes it from now on.

        Returns:
            What it is now, and the name of the gateway that had it; None if it is not admitted.

        Raises:
            SessionExpired: If it is gone.
            BusUnavailable: If others take it all the time.
        """
        for _ in range(RACES):
            notes = await self._logs.notes(key)
            known = stream_note(notes)
            if known is None or not admits(known[0], notes):
                return None
            before, version = known
            now = msgspec.structs.replace(
                before,
                gateway=self.name,
                attachment=before.attachment + 1,
                tokens=tuple(map(digest, tokens)),
            )
            if await self._logs.note(key, STREAM, encode(now), expected=version):
                return now, before.gateway
        raise BusUnavailable(f"stream {key.stream_id!r} is taken over all the time")

    async def has(self, key: StreamKey) -> bool:
        """Tell whether the stream is still here, and this gateway's."""
        try:
            known = stream_note(await self._logs.notes(key))
        except SessionExpired:
            return False
        return known is not None and known[0].gateway == self.name
