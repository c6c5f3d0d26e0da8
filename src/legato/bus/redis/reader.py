"""A reader's place in a log: pushes while they fit, the log itself where they do not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from legato.bus.base import Closed, Deliver, Direction, Entry, Item, StreamKey
from legato.bus.redis.call import Call, Outcome
from legato.bus.redis.faults import translate
from legato.bus.redis.keys import StreamKeys
from legato.bus.redis.link import Command, ReplyError
from legato.bus.redis.loss import find_out
from legato.bus.redis.pushes import Pushes
from legato.bus.redis.scripts import ATTACH
from legato.bus.redis.servers import Servers
from legato.bus.redis.view import View, read_commands
from legato.errors import EpochChanged, Internal, LegatoError, SessionExpired

BATCH: Final = 256
"""Entries that one call delivers, so that a long backlog does not hold up the loop."""

EARLY: Final = 64
"""Pushes that are kept while the log is being read."""

RACES: Final = 7
"""Times that a log is read in vain before what is missing counts as lost."""

SECOND_LOOK: Final = 0.05
"""Seconds after which a reader that is newly listed looks again: until writers know of it they
tell it nothing, and one may have stored its last entry and gone."""

PAUSE: Final = 0.02
"""Seconds before it is read a third time; each later pause is twice as long, 1.2 s in all. What
changes between two commands is there at once; what moves to another node of a Cluster is not."""


class Follower:
    """Fills the port's `Subscription`.

    It ends with `EpochChanged` if the log is lost, or what was delivered is not in it any more, or
    something else is (after a failover to a replica that had lagged behind).

    Args:
        key: The stream.
        direction: Which of its logs.
        deliver: Takes entries.
        closed: Takes the reason of the end.
        after: Number of the last entry that is not wanted.
        keys: Of the stream.
        servers: Where the log is read.
        pushes: Tells writers of the reader.
        ended: Called once, when it is open no more.
        pause: Seconds before a log is read a third time when something is missing.

    Attributes:
        handle: What others push to.
        news_at: When something last came, by the loop's clock.
        looks: How often the log was looked at since.
    """

    def __init__(
        self,
        key: StreamKey,
        direction: Direction,
        *,
        deliver: Deliver,
        closed: Closed | None,
        after: int,
        keys: StreamKeys,
        servers: Servers,
        pushes: Pushes,
        ended: Callable[[Follower], None],
        pause: float = PAUSE,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._key = key
        self._direction = direction
        self._letter = direction.value[0]
        self._deliver = deliver
        self._closed = closed
        self._position = after
        self._delivered: Entry | None = None
        self._keys = keys
        self._servers = servers
        self._pushes = pushes
        self._ended = ended
        self._pause = pause
        self._incarnation = b""
        self._token = ""
        self._reading = 0
        self._races = 0
        self._again = False
        self._early: list[tuple[int, str, Sequence[tuple[Item, ...]]]] = []
        self._open = True
        self._ending = False
        self.handle = 0
        self.news_at = self._seen_at = self._loop.time()
        self.looks = 0

    @property
    def place(self) -> tuple[str, str]:
        """The stream's record, and its field that lists readers."""
        return self._keys.record, self._letter + "r"

    def close(self) -> None:
        if self._open:
            self._open = False
            self._early.clear()
            self._ended(self)

    def end(self, reason: LegatoError) -> None:
        """Take no more, and close and tell why with the next turn of the loop."""
        if self._takes:
            self._ending = True
            self._early.clear()
            self._loop.call_soon(self._finish, reason)

    def attach(self, channel: str) -> None:
        """Be listed under a channel, and read what came before that."""
        if self._takes:
            name = f"{channel}/{self.handle}"
            self._read(ATTACH((self._keys.record,), self._letter, self._incarnation, name))

    def look(self) -> None:
        """Read what is new in the log."""
        if not self._takes:
            return
        if self._reading:
            self._again = True
        else:
            self._read()

    def pushed(self, first: int, token: str, entries: Sequence[tuple[Item, ...]]) -> None:
        """Take entries that somebody stored; what does not follow on is read from the log."""
        self.news_at = self._seen_at = self._loop.time()
        self.looks = 0
        if not self._takes:
            return
        if self._reading:
            if len(self._early) < EARLY:
                self._early.append((first, token, entries))
            else:
                self._again = True
            return
        past = self._position + 1 - first
        if past < 0 or token != self._token or len(entries) - past > BATCH:
            self._read()
        elif past < len(entries):
            numbers = range(self._position + 1, first + len(entries))
            self._hand_on([Entry(n, entries[n - first]) for n in numbers])

    @property
    def _takes(self) -> bool:
        return self._open and not self._ending

    def _finish(self, reason: LegatoError) -> None:
        if self._open:
            self.close()
            if self._closed is not None:
                self._closed(reason)

    def _hand_on(self, entries: Sequence[Entry]) -> None:
        self._delivered = entries[-1]
        self._position = self._delivered.number
        try:
            self._deliver(entries)
        except Exception as error:  # noqa: BLE001 - one reader's fault must not cost the others
            self._loop.call_exception_handler(
                {"message": "the reader of a log raised", "exception": error}
            )
            self.end(Internal("the reader of the log raised"))

    # ── reading the log ──

    def _read(self, *before: Command) -> None:
        # From the last entry delivered on, to see that it is still the same.
        start = self._position + (self._delivered is None)
        commands = read_commands(self._keys, self._direction, self._token, start=start, limit=BATCH)
        self._reading += 1
        self._again = False
        self._servers.submit(Call(self._keys.record, [*before, *commands], self._take))

    def _take(self, outcome: Outcome) -> None:
        self._reading -= 1
        if not self._takes:
            return
        try:
            view = self._view(outcome)
            is_sound = self._check(view)
            entries = view.entries(self._position + 1) if is_sound else []
        except SessionExpired as reason:
            self._judge(reason)
            return
        except LegatoError as reason:
            self.end(reason)
            return
        self._seen_at = self._loop.time()
        if entries:
            self._hand_on(entries[:BATCH])
        self._go_on(not is_sound or len(view.stored) == BATCH or len(entries) > BATCH)

    def _judge(self, gone: SessionExpired) -> None:
        """Find out why the stream is gone, if it was ever there for this reader."""
        if not self._incarnation:
            self.end(gone)
            return
        self._reading += 1
        find_out(self._servers, self._keys, self._key, seen_at=self._seen_at, told=self.end)

    def _read_again(self) -> None:
        self._reading -= 1
        if self._takes:
            self._read()

    def _view(self, outcome: Outcome) -> View:
        if isinstance(outcome, LegatoError):
            raise outcome
        for reply in outcome:
            if isinstance(reply, ReplyError):
                raise translate(reply)
        match outcome:
            case [bytes(writers), _, _] if writers:
                self._pushes.looks(writers.decode(), (self._keys.record, f"{self._letter}w"))
                self._loop.call_later(SECOND_LOOK, self.look)
        return View.of(self._key, self._direction, outcome[-2:])

    def _check(self, view: View) -> bool:
        """Tell whether a view goes on from what was delivered; False if it must be read again."""
        view.check(self._incarnation, self._position)
        self._incarnation = view.incarnation
        is_sound = view.token == self._token and self._has_delivered(view)
        self._token = view.token
        self._races = 0 if is_sound else self._races + 1
        if self._races > RACES:
            raise EpochChanged(f"Redis has lost entries of {view.name} that had been read")
        return is_sound

    def _has_delivered(self, view: View) -> bool:
        """Tell whether the last entry delivered is as it was, or known to be trimmed."""
        last = self._delivered
        if last is None or view.trimmed >= last.number:
            return True
        return view.entries(last.number)[:1] == [last]

    def _go_on(self, more: bool) -> None:
        """Read on, or go over to pushes when there is no more."""
        if self._reading or not self._takes:
            return
        if self._races > 2:
            self._reading += 1
            self._loop.call_later(self._pause * 2.0 ** (self._races - 2), self._read_again)
            return
        if more or self._again:
            self._read()
            return
        early, self._early = self._early, []
        for first, token, items in early:
            self.pushed(first, token, items)
