"""The server's machine of one connection."""

from __future__ import annotations

import msgspec

from legato.errors import (
    EpochChanged,
    Internal,
    LegatoError,
    SessionExpired,
    SessionReplaced,
    StreamExists,
)
from legato.protocol.faults import error_message
from legato.protocol.messages import NO_SEQ, Notice, Resume, Resumed
from legato.session.events import Acknowledged, Event, Received
from legato.session.machine import ROOM_BYTES
from legato.session.offer import check_start
from legato.session.server_inbox import ServerInbox
from legato.session.server_stream import ServerStream
from legato.session.states import RAW, LinkSignal, StreamSignal, StreamState


class ServerSession(ServerInbox):
    """Answers one client.

    Args:
        session_id: Named in welcome.
        resume_token: Given in welcome.
        now: Monotonic seconds.
        limits: Given in welcome, and enforced.
        heartbeat: Given in welcome.
        idle_timeout: Seconds without a word from the client until the session fails.
        reliable: Whether the transport keeps order and loses nothing.
    """

    # what the shell says

    def accept(
        self,
        number: int,
        *,
        engine: str,
        voice: str | None,
        now: float,
        known: ServerStream | None = None,
    ) -> ServerStream | None:
        """Open a requested stream; None if the client stopped asking meanwhile, or is gone.

        `known` is the stream itself, suspended, if its client asked before, and was cut off before
        it learnt that the stream is there (`ServerStream.acquainted`).
        """
        admitted = self._lobby.admit(number)
        if admitted is None or not self._up:
            return None
        start, early = admitted
        if known is None:
            stream = ServerStream(start, check_start(start), reliable=self._reliable)
            stream.engine, stream.voice = engine, voice
            stream.max_text_chars = self._limits.max_text_chars
            stream.tokens = (self.resume_token,)
            stream.signal(StreamSignal.STARTED)
        else:
            stream = known
            stream.go_on(number, NO_SEQ, (self.resume_token,), now)
        self._install(stream, now)
        self._send(stream.started())
        for seq, item in early:
            if stream.state is StreamState.OPEN:
                self._take_entry(stream, seq, item, now)
        return stream

    def attach(self, stream: ServerStream, resume: Resume, now: float) -> bool:
        """Go on with a suspended stream on this connection, or with one that lost entries.

        Returns:
            False if that cannot be: the client was told why, and the stream is as it was.
        """
        number, held_under = resume.stream, stream.number
        try:
            self._check_attachable(stream, number)
            if resume.epoch != stream.epoch:
                raise EpochChanged(f"stream {number} is in epoch {stream.epoch} here")
            stream.go_on(number, resume.received_seq, (resume.token, self.resume_token), now)
        except LegatoError as error:
            self.refuse(number, error)
            return False
        if self.streams.get(held_under) is stream:
            del self.streams[held_under]
        self._lobby.recall(number)
        self._attempts.answer(number)
        self._install(stream, now)
        self._send(
            Resumed(
                stream=number,
                recovered=True,
                epoch=stream.epoch,
                received_seq=stream.up_place.seq,
            )
        )
        return True

    def _install(self, stream: ServerStream, now: float) -> None:
        if self._rate is not None:
            stream.out.set_rate(self._rate, now)
        self.streams[stream.number] = stream
        # What came in the last moment of its old connection was told to nobody yet.
        self._touched[stream.number] = stream

    def detach(self) -> list[ServerStream]:
        """The connection is lost: take the streams that may go on elsewhere."""
        self._signal(LinkSignal.LOSE)
        streams = list(self.streams.values())
        for stream in streams:
            stream.signal(StreamSignal.LOSE)
        self.streams.clear()
        self._touched.clear()
        return streams

    def replaced(self, stream: ServerStream) -> None:
        """Another connection has taken the stream over; the last one gone closes this one."""
        self._remove(stream)
        self._send(error_message(SessionReplaced(), stream.number))
        if not self.streams and not self._lobby:
            self.close(SessionReplaced())

    def pass_notice(self, stream: ServerStream, message: Notice) -> None:
        """Hand a worker's news to the client."""
        self._pass(msgspec.structs.replace(message, stream=stream.number))

    # the loop

    def take_events(self) -> list[Event]:
        """Take what the shell must act on; what arrived comes as one event for each stream."""
        touched, self._touched = self._touched, {}
        for stream in touched.values():
            try:
                items = stream.take_for_log()
            except LegatoError as error:
                self.fail(stream, error)
            else:
                if items:
                    self._events.append(Received(stream, items))
        events, self._events = self._events, []
        return events

    def take_frames(self, now: float, *, room_bytes: int = ROOM_BYTES) -> list[str | bytes]:
        """Take what to send now; see `Session.take_frames`."""
        frames = super().take_frames(now, room_bytes=room_bytes)
        if frames and self.link is RAW:
            self._heard_at = now
            for stream in list(self.streams.values()):
                # Such a client has no acks: what is sent is done with.
                if stream.out.kept:
                    sent = stream.out.sent_seq
                    stream.out.acknowledge(sent, sent, now)
                    self._tell(Acknowledged(stream, sent, stream.played_upto))
                if stream.end is not None:
                    self._finish(stream)
        return frames

    def _give_up_on(self, stream: ServerStream, error: LegatoError) -> None:
        # What cannot be coded came from a worker: that is our fault, not the client's.
        bug = Internal()
        bug.__cause__ = error
        self.fail(stream, bug)

    def _check_attachable(self, stream: ServerStream, number: int) -> None:
        if not self._up or stream.over or stream.raw:
            raise SessionExpired(f"stream {number} cannot go on here")
        if self.streams.get(number, stream) is not stream or self._lobby.asked(number):
            raise StreamExists(f"stream {number} is another one on this connection")
