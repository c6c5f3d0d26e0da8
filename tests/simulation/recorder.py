"""Writes down all that is asked of a client's session, and all that it answers.

Other implementations of the session are given the same, and must answer the same.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from legato.flow.digest import Chain
from legato.protocol.codec import encode
from legato.protocol.media import AudioFrame, decode_frame
from legato.protocol.messages import Hello, Message, StreamStart
from legato.session.client import ClientSession
from legato.session.client_stream import ClientStream
from legato.session.events import (
    DrainAnnounced,
    Event,
    LinkStalled,
    Noticed,
    Paced,
    Progressed,
    Received,
    ResumeRefused,
    SessionFailed,
    StreamFailed,
    StreamFinished,
    StreamOpened,
    StreamRecovered,
    Welcomed,
)
from legato.session.lane import Item
from legato.session.stream import Stream

Step = list[Any]
"""What was called, the instant where it has one, its arguments, and what came of it."""

T = TypeVar("T")

KINDS: dict[type, str] = {
    Welcomed: "welcomed",
    StreamOpened: "opened",
    StreamRecovered: "recovered",
    ResumeRefused: "resume_refused",
    Received: "received",
    Progressed: "progressed",
    Paced: "paced",
    Noticed: "noticed",
    StreamFinished: "finished",
    StreamFailed: "failed",
    DrainAnnounced: "draining",
    LinkStalled: "stalled",
    SessionFailed: "session_failed",
}
"""Names of events that a client tells."""

_RECORDERS: dict[Stream, RecordingSession] = {}


class RecordingStream(ClientStream):
    """A stream whose session writes down what an application says."""

    __slots__ = ()

    def send_audio(self, payload: bytes, *, last: bool = False) -> int:
        return self._asked(super().send_audio, payload, last=last)

    def send_text(self, text: str) -> int:
        return self._asked(super().send_text, text)

    def flush(self) -> None:
        self._asked(super().flush)

    def finalize(self) -> None:
        self._asked(super().finalize)

    def cancel(self, utterance: int, *, played_upto: int | None = None) -> None:
        self._asked(super().cancel, utterance, played_upto=played_upto)

    def finish(self) -> None:
        self._asked(super().finish)

    def consumed(self, upto: int, now: float) -> None:
        self._asked(super().consumed, upto, now)

    def played(self, upto: int, now: float) -> None:
        self._asked(super().played, upto, now)

    def _asked(self, method: Callable[..., T], *given: object, **named: object) -> T:
        recorder = _RECORDERS[self]
        arguments = [payload_of(one) if isinstance(one, bytes) else one for one in given]
        return recorder.note(
            lambda: method(*given, **named),
            [method.__name__, self.number, *arguments, *named.values()],
        )


class RecordingSession(ClientSession):
    """A session of a client that writes down what is asked of it.

    Args:
        hello: Sent first on every connection.
        digest: Whether the end of an input says what it adds up to.

    Attributes:
        steps: What was asked.
    """

    def __init__(self, hello: Hello, *, digest: bool = False) -> None:
        super().__init__(hello)
        self.steps: list[Step] = []
        self._digest = digest
        self._depth = 0

    def note(self, act: Callable[[], T], step: Step) -> T:
        """Do something, and write it down unless it is part of something else."""
        if not self._depth:
            self.steps.append(step)
        self._depth += 1
        try:
            return act()
        finally:
            self._depth -= 1

    def connected(self, now: float) -> None:
        self.note(lambda: super(RecordingSession, self).connected(now), ["connected", now])

    def disconnected(self, now: float) -> None:
        self.note(lambda: super(RecordingSession, self).disconnected(now), ["disconnected", now])

    def receive(self, data: str | bytes, now: float) -> None:
        step = ["receive", now, data_of(data)]
        self.note(lambda: super(RecordingSession, self).receive(data, now), step)

    def handle_timer(self, now: float) -> None:
        self.note(lambda: super(RecordingSession, self).handle_timer(now), ["handle_timer", now])

    def start(self, start: StreamStart) -> ClientStream:
        step = ["start", json.loads(encode(start))]
        stream = self.note(lambda: super(RecordingSession, self).start(start), step)
        if self._digest:
            stream.out.chain = Chain()
        stream.__class__ = RecordingStream
        _RECORDERS[stream] = self
        return stream

    def stop(self, stream: ClientStream) -> None:
        step = ["stop", stream.number]
        self.note(lambda: super(RecordingSession, self).stop(stream), step)

    def pace(self, rate: float, stream: ClientStream | None = None) -> None:
        assert stream is not None, "other clients pace each stream"
        step = ["pace", stream.number, rate]
        self.note(lambda: super(RecordingSession, self).pace(rate, stream), step)

    def take_frames(self, now: float, *, room_bytes: int = 65_536) -> list[str | bytes]:
        step: Step = ["take_frames", now]
        several = len(self.streams) > 1  # whose turn it is changes, though nothing is sent
        frames = self.note(
            lambda: super(RecordingSession, self).take_frames(now, room_bytes=room_bytes), step
        )
        due = self.next_timer(now)
        step += [[data_of(frame) for frame in frames], None if due == math.inf else due]
        if not frames and not several:
            self.steps.pop()
        return frames

    def take_events(self) -> list[Event]:
        events = super().take_events()
        if events:
            self.steps.append(["take_events", [event_of(event) for event in events]])
        return events


def conversation(name: str, session: RecordingSession) -> dict[str, Any]:
    """What was asked of a session and what it answered, as JSON has it."""
    for stream in [one for one, recorder in _RECORDERS.items() if recorder is session]:
        del _RECORDERS[stream]
    return {"name": name, "digest": session._digest, "steps": session.steps}  # noqa: SLF001  (the same module)


def data_of(data: str | bytes) -> dict[str, Any]:
    """A message on the wire."""
    if isinstance(data, str):
        message: dict[str, Any] = json.loads(data)
        return message
    return item_of(decode_frame(data))


def item_of(item: Item) -> dict[str, Any]:
    """An entry of a stream."""
    if isinstance(item, AudioFrame):
        fields = ("seq", "last", "stream", "sample", "epoch", "utterance")
        numbers = {name: getattr(item, name) for name in fields if getattr(item, name)}
        return {"payload": payload_of(item.payload), **numbers}
    return said(item)


def said(message: Message) -> dict[str, Any]:
    """A message as JSON has it."""
    made: dict[str, Any] = json.loads(encode(message))
    return made


def payload_of(payload: bytes) -> str:
    """A payload in hex; one that is always the same sample as that and how many times it comes."""
    sample, times = payload[:2], len(payload) // 2
    if times > 2 and sample * times == payload:
        return f"{sample.hex()}*{times}"
    return payload.hex()


def event_of(event: Event) -> dict[str, Any]:
    """An event, without what is in the message that it tells of."""
    told: dict[str, Any] = {"kind": KINDS[type(event)]}
    match event:
        case Received(stream=stream, items=items):
            return told | {"stream": stream.number, "items": items_of(items)}
        case StreamFinished(stream=stream, intact=intact):
            return told | {"stream": stream.number, "intact": intact}
        case StreamFailed(stream=stream, error=error) | ResumeRefused(stream=stream, error=error):
            return told | {"stream": stream.number, "code": error.code}
        case SessionFailed(error=error) | LinkStalled(error=error):
            return told | {"code": error.code}
        case DrainAnnounced(deadline=deadline):
            return told | {"deadline": deadline}
        case (
            StreamOpened(stream=stream)
            | StreamRecovered(stream=stream)
            | Progressed(stream=stream)
            | Noticed(stream=stream)
        ):
            return told | {"stream": stream.number}
    return told


def items_of(items: Sequence[Item]) -> list[dict[str, Any]]:
    """Entries of a stream; of frames, where they are in the stream."""
    return [item_of(item) for item in items]
