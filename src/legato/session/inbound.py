"""The receiving half of a lane: order."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from legato.errors import UnexpectedMessage
from legato.protocol.media import AudioFrame
from legato.protocol.messages import Cancel, StreamEnd
from legato.session.lane import Item


class Verdict(IntEnum):
    """What became of an arrived entry."""

    DELIVERED = 0
    DUPLICATE = 1
    HELD = 2
    GAP = 3
    """Dropped, first of its kind since the last delivery: say so to the peer."""
    DROPPED = 4
    """Dropped, and the peer knows already."""


DELIVERED: Final = Verdict.DELIVERED
"""Looked up for every frame, which through the enumeration takes ten times as long."""


class Inbound:
    """Receiving half: delivers every number once and in order.

    Args:
        reorder: Entries held to wait for a missing one; 0 on a transport that keeps order.

    Attributes:
        expected: The number that comes next.
        ready: Entries in order, for the session to take.
        ended: Whether the peer said that it has no more input.
    """

    __slots__ = ("_gap_told", "_held", "_holes", "_reorder", "ended", "expected", "ready")

    def __init__(self, *, reorder: int = 0) -> None:
        self.expected = 0
        self.ready: list[Item] = []
        self.ended = False
        self._held: dict[int, Item] = {}
        self._holes: dict[int, int] = {}
        self._reorder = reorder
        self._gap_told = False

    def accept(self, seq: int, item: Item) -> Verdict:
        """Take an arrived entry.

        Raises:
            UnexpectedMessage: If the peer had ended its input; only `cancel` may still come.
        """
        if seq == self.expected:
            if type(item) is not AudioFrame or self.ended:
                self._note(item)
            self.ready.append(item)
            self.expected = seq + 1
            self._gap_told = False
            if self._held or self._holes:
                self._release_held()
            return DELIVERED
        if seq < self.expected or seq in self._held:
            return Verdict.DUPLICATE
        if len(self._held) < self._reorder:
            self._held[seq] = item
            return Verdict.HELD
        return self._refuse()

    def skip(self, start: int, end: int) -> None:
        """Note that numbers from `start` up to, not including, `end` never come: it is no loss."""
        if start == self.expected:
            self.expected = max(start, end)
        elif start > self.expected and len(self._holes) < self._reorder:
            self._holes[start] = end

    def give_up(self) -> Verdict:
        """Stop holding entries for a missing one that did not come in time."""
        self._held.clear()
        return self._refuse()

    @property
    def waiting(self) -> bool:
        """Whether entries are held for a missing one."""
        return bool(self._held)

    def forget_gap(self) -> None:
        """Let the next gap be told again, after the peer was asked to rewind."""
        self._gap_told = False

    def _refuse(self) -> Verdict:
        if self._gap_told:
            return Verdict.DROPPED
        self._gap_told = True
        return Verdict.GAP

    def _note(self, item: Item) -> None:
        if self.ended and type(item) is not Cancel:
            raise UnexpectedMessage("nothing but cancel may follow stream_end")
        if type(item) is StreamEnd:
            self.ended = True

    def _release_held(self) -> None:
        while True:
            hole_end = self._holes.pop(self.expected, None)
            if hole_end is not None:
                self.expected = max(self.expected, hole_end)
            item = self._held.pop(self.expected, None)
            if item is None:
                return
            self._note(item)
            self.ready.append(item)
            self.expected += 1
