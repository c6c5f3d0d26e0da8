"""What holds of a bus whatever is done to it: random histories against simple models."""

from dataclasses import dataclass, field

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from legato.bus.base import Direction, Entry, LogWriter, Subscription
from legato.errors import LegatoError, ResumeGap, SessionExpired, SessionReplaced
from tests.contract.buses import Implementation, Reader, frame, stream
from tests.contract.laws import BusLaws

KEY = stream()
UP = Direction.UP


@dataclass
class Follower:
    """A reader, where it began, and whether its log may still speak to it."""

    reader: Reader
    after: int
    subscription: Subscription | None = None
    open: bool = True


@dataclass
class LogModel:
    """What a log should hold, and the note that its last trim should have left."""

    entries: list[Entry] = field(default_factory=list)
    trimmed: int = 0
    fence: int = 0
    note: bytes | None = None

    def above(self, after: int) -> list[Entry]:
        return self.entries[after:]


@dataclass
class Writer:
    """A writer, what it writes to, and what it tells."""

    fence: int
    log: LogModel
    stored: list[int] = field(default_factory=list)
    reasons: list[LegatoError] = field(default_factory=list)
    writes: LogWriter | None = None

    def reason(self, model: LogModel | None) -> type[LegatoError] | None:
        """Return why it can write no more."""
        if self.fence < self.log.fence:
            return SessionReplaced
        return None if self.log is model else SessionExpired


class LogLaws(BusLaws):
    """A log is a list from which a front is cut off."""

    def __init__(self) -> None:
        super().__init__()
        self.model: LogModel | None = None
        self.seq = 0
        self.writers: list[Writer] = []
        self.followers: list[Follower] = []

    @initialize()
    def make(self) -> None:
        self.run(self.rig.bus.logs.create(KEY, ttl=self.rig.long))
        self.model = LogModel()

    @property
    def log(self) -> LogModel:
        assert self.model is not None
        return self.model

    @precondition(lambda self: self.model is not None)
    @rule(fence=st.integers(0, 4))
    def open_writer(self, fence: int) -> None:
        writer = Writer(fence, self.log)
        self.writers.append(writer)

        async def act() -> None:
            writer.writes = self.rig.bus.logs.writer(
                KEY, UP, fence=fence, stored=writer.stored.append, failed=writer.reasons.append
            )
            try:
                await writer.writes.settle()
                assert fence >= self.log.fence
            except SessionReplaced:
                assert fence < self.log.fence

        self.run(act())
        self.log.fence = max(self.log.fence, fence)

    @precondition(lambda self: self.writers)
    @rule(data=st.data(), counts=st.lists(st.integers(1, 3), min_size=1, max_size=4))
    def append(self, data: st.DataObject, counts: list[int]) -> None:
        chosen = data.draw(st.sampled_from(self.writers))
        writer, fence, log = chosen.writes, chosen.fence, chosen.log
        assert writer is not None
        batches = []
        for count in counts:
            batches.append(tuple(frame(self.seq + n)[0] for n in range(count)))
            self.seq += count

        async def act() -> None:
            for items in batches:
                writer.append(items)
            await writer.settle()

        try:
            self.run(act())
        except SessionExpired:
            assert log is not self.model
        except SessionReplaced:
            assert fence < log.fence
        else:
            assert log is self.model
            assert fence >= log.fence
            log.entries += [Entry(len(log.entries) + n, b) for n, b in enumerate(batches, 1)]
            assert writer.stored == len(log.entries)

    @precondition(lambda self: self.model is not None)
    @rule(upto=st.integers(0, 40))
    def trim(self, upto: int) -> None:
        note = b"%d" % upto
        self.run(self.rig.bus.logs.trim(KEY, UP, upto=upto, note=note))
        trimmed = min(upto, len(self.log.entries))
        if trimmed > self.log.trimmed:
            self.log.trimmed, self.log.note = trimmed, note

    @rule(after=st.integers(0, 40), limit=st.integers(1, 10))
    def read(self, after: int, limit: int) -> None:
        read = self.rig.peer.logs.read(KEY, UP, after=after, limit=limit)
        if self.model is None:
            with pytest.raises(SessionExpired):
                self.run(read)
        elif after < self.log.trimmed:
            with pytest.raises(ResumeGap) as caught:
                self.run(read)
            assert caught.value.missing == (after + 1, self.log.trimmed + 1)
        else:
            assert list(self.run(read)) == self.log.above(after)[:limit]

    @rule(after=st.integers(0, 40))
    def follow(self, after: int) -> None:
        reader = Reader()
        follower = Follower(reader, after)

        async def act() -> None:
            follower.subscription = self.rig.peer.logs.follow(
                KEY, UP, reader.deliver, after=after, closed=reader.closed
            )
            await self.rig.quiet()

        self.run(act())
        if self.model is None:
            assert isinstance(reader.reasons[0], SessionExpired)
            follower.open = False
        elif after < self.log.trimmed:
            assert isinstance(reader.reasons[0], ResumeGap)
            follower.open = False
        self.followers.append(follower)

    @precondition(lambda self: self.followers)
    @rule(data=st.data())
    def close(self, data: st.DataObject) -> None:
        follower = data.draw(st.sampled_from(self.followers))
        assert follower.subscription is not None
        follower.subscription.close()
        self.followers.remove(follower)
        self.closed_one = follower.reader, len(follower.reader.calls), len(follower.reader.reasons)

    closed_one: tuple[Reader, int, int] | None = None

    @invariant()
    def a_closed_reader_is_told_nothing(self) -> None:
        if self.closed_one is not None:
            reader, calls, reasons = self.closed_one
            assert (len(reader.calls), len(reader.reasons)) == (calls, reasons)

    @precondition(lambda self: self.model is not None)
    @rule(deleted=st.booleans())
    def end(self, deleted: bool) -> None:
        async def act() -> None:
            if deleted:
                kept = len(self.log.entries) - self.log.trimmed
                assert await self.rig.bus.logs.delete(KEY) == kept
            else:
                await self.rig.bus.logs.touch(KEY, ttl=self.rig.tick)
                await self.rig.advance(2 * self.rig.tick)
            await self.rig.quiet()

        self.run(act())
        for follower in self.followers:
            if follower.open:
                assert isinstance(follower.reader.reasons[0], SessionExpired)
                follower.open = False
        self.model = None

    @precondition(lambda self: self.model is None)
    @rule()
    def make_again(self) -> None:
        self.run(self.rig.advance(self.rig.tombstone + self.rig.tick))
        self.make()

    @invariant()
    def the_note_is_that_of_the_last_trim_that_forgot_something(self) -> None:
        if self.model is None:
            with pytest.raises(SessionExpired):
                self.run(self.rig.peer.logs.notes(KEY))
        else:
            notes = self.run(self.rig.peer.logs.notes(KEY))
            known = {} if self.model.note is None else {"up": self.model.note}
            assert {name: note.value for name, note in notes.items()} == known

    @invariant()
    def writers_tell_what_is_stored_and_once_that_they_are_over(self) -> None:
        self.run(self.rig.quiet())
        for writer in self.writers:
            assert writer.writes is not None
            assert writer.stored == sorted(set(writer.stored))
            assert max(writer.stored, default=0) == writer.writes.stored
            reason = writer.reason(self.model)
            assert [type(told) for told in writer.reasons] == ([] if reason is None else [reason])

    @invariant()
    def readers_have_all_entries_in_order_and_once(self) -> None:
        self.run(self.rig.quiet())
        for follower in self.followers:
            reader = follower.reader
            start = follower.after + 1
            assert reader.numbers == list(range(start, start + len(reader.numbers)))
            assert len(reader.reasons) == (0 if follower.open else 1)
            if follower.open:
                assert reader.entries == self.log.above(follower.after)


def test_a_log_is_a_list_from_which_a_front_is_cut_off(implementation: Implementation) -> None:
    laws = type("LogLaws", (LogLaws,), {"implementation": implementation})
    effort = settings(stateful_step_count=40, max_examples=implementation.examples)
    run_state_machine_as_test(laws, settings=effort)
