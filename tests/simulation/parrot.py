"""The application behind the server in a simulation: answers what it hears, and numbers it."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from legato.protocol.media import AudioFrame
from legato.protocol.messages import (
    Cancel,
    Continuation,
    Finalize,
    StreamEnd,
    Text,
    UtteranceEnd,
)
from legato.session.lane import Item
from legato.session.server_stream import ServerStream

CHAR_SAMPLES = 8_000
"""Audio that one character of text becomes: 1 s at 8 kHz."""


def spoken(text: str) -> list[bytes]:
    """Return the frames that a text becomes: one for each character."""
    return [char.encode("utf-16-le")[:2] * CHAR_SAMPLES for char in text]


@dataclass(slots=True)
class Work:
    """What one entry of up asks for."""

    utterance: int
    seq: int
    samples: int = 0
    chars: int = 0
    frames: deque[bytes] = field(default_factory=deque)
    sample: int = 0
    ends: bool = False
    ends_stream: bool = False


class Parrot:
    """Echoes audio, speaks text character by character, ends what was ended, heeds cancels.

    An echo comes back at the positions where it was said. Where a client goes on with a stream of
    another server, what it holds is made again and not said again.

    Args:
        stream: Where its answers go.
        step: Seconds that each frame takes it.

    Attributes:
        heard: Everything that came up, in order.
        said: Everything that went down, in order.
        due_at: When it has something to do, or inf.
    """

    def __init__(self, stream: ServerStream, *, step: float) -> None:
        self.stream = stream
        self.heard: list[Item] = []
        self.said: list[Item] = []
        self.due_at = math.inf
        self._step = step
        self._work: deque[Work] = deque()
        self._utterance = 0
        self._unended: list[int] = []
        self._sample = 0
        self._samples_done = 0
        self._chars_done = 0
        self._upto = 0
        self._skip = 0
        self._is_echo = stream.start.task == "echo"
        if stream.start.continues is not None:
            self._continue(stream.start.continues)

    def hear(self, items: Sequence[Item], now: float) -> None:
        """Take entries of the up log."""
        self.heard.extend(items)
        for item in items:
            work = Work(self._utterance, item.seq or 0, sample=self._upto)
            self._work.append(work)
            match item:
                case AudioFrame():
                    work.samples, work.ends = len(item.payload) // 2, item.last
                    work.frames.append(item.payload)
                    self._upto += work.samples
                    self._pass_over(work)
                    self._speak(ends=item.last)
                case Text():
                    work.chars, work.frames = len(item.text), deque(spoken(item.text))
                    self._pass_over(work)
                    self._speak(ends=False)
                case Finalize():
                    work.ends = self._is_open
                    self._next(self._utterance + work.ends)
                case StreamEnd():
                    work.ends, work.ends_stream = self._is_open, True
                case Cancel():
                    self._cancel(item.utterance)
        if self.due_at == math.inf:
            self.due_at = now

    def work(self, now: float) -> None:
        """Do what is due."""
        while now >= self.due_at:
            if not self._work:
                self.due_at = math.inf
            elif self._work[0].frames:
                self._sound(self._work[0])
                self.due_at += self._step
            else:
                self._finish(self._work.popleft(), now)

    @property
    def _is_open(self) -> bool:
        return self._unended[-1:] == [self._utterance]

    def _speak(self, *, ends: bool) -> None:
        if not self._is_open:
            self._unended.append(self._utterance)
        self._next(self._utterance + ends)

    def _continue(self, where: Continuation) -> None:
        self._utterance = where.utterance
        self._sample = where.received_upto
        self._samples_done = self._upto = where.sample
        if where.speaking:
            self._unended = [where.utterance]
        if not self._is_echo:
            self._skip = (where.received_upto - where.utterance_sample) // CHAR_SAMPLES

    def _pass_over(self, work: Work) -> None:
        """Leave out of the first utterance what was said of it before."""
        while self._skip and work.frames:
            work.frames.popleft()
            self._skip -= 1

    def _next(self, utterance: int) -> None:
        if utterance != self._utterance:
            self._skip = 0
        self._utterance = utterance

    def _finish(self, work: Work, now: float) -> None:
        if work.ends:
            self._end(work.utterance, "done")
        if work.ends_stream:
            self._say(StreamEnd(seq=len(self.said)))
        self._samples_done += work.samples
        self._chars_done += work.chars
        self.stream.committed(work.seq, self._samples_done, self._chars_done, now)

    def _cancel(self, utterance: int) -> None:
        for work in self._work:
            if work.utterance <= utterance:
                work.frames.clear()
                work.ends = False
        if self._is_echo:
            left = [work.sample for work in self._work if work.frames]
            self._sample = left[0] if left else self._upto
        for unended in [number for number in self._unended if number <= utterance]:
            self._end(unended, "cancelled")
        self._next(max(self._utterance, utterance + 1))

    def _end(self, utterance: int, reason: Literal["done", "cancelled"]) -> None:
        self._unended.remove(utterance)
        self._say(
            UtteranceEnd(
                seq=len(self.said), utterance=utterance, reason=reason, sample=self._sample
            )
        )

    def _sound(self, work: Work) -> None:
        payload = work.frames.popleft()
        frame = AudioFrame(payload, len(self.said), sample=self._sample, utterance=work.utterance)
        self._say(frame)
        self._sample += len(payload) // 2

    def _say(self, item: Item) -> None:
        self.said.append(item)
        self.stream.relay([item])
