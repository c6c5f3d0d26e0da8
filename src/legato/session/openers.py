"""Cancelling what was not sent: which entries go, and what the server is told in their place."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final

from legato.protocol.media import AudioFrame
from legato.protocol.messages import Cancel, Finalize, StreamEnd, Text
from legato.session.lane import UNNUMBERED, Item

_UNSENT: Final = (None, UNNUMBERED)
"""Numbers of entries that have none yet."""


class Openers:
    """The first entries of utterances, as far as they were not sent.

    The server numbers utterances by what it gets: of one that is cancelled before any of it was
    sent, an empty piece tells that it was there.
    """

    __slots__ = ("_openers",)

    def __init__(self) -> None:
        self._openers: deque[tuple[int, AudioFrame | Text]] = deque()

    def note(self, utterance: int, item: AudioFrame | Text) -> None:
        """Note what opens an utterance."""
        self._forget_sent()
        self._openers.append((utterance, item))

    def restore(self, said: Sequence[tuple[int, Item]]) -> None:
        """Begin anew with entries of which none was sent, each with its utterance."""
        self._openers.clear()
        for utterance, item in said:
            first = not self._openers or self._openers[-1][0] != utterance
            if first and isinstance(item, AudioFrame | Text):
                self._openers.append((utterance, item))

    def words_of_cancel(self, upto: int, stream: int) -> list[Item]:
        """Return what tells the server of a cancel, when the unsent of it has left the queue."""
        self._forget_sent()
        words: list[Item] = []
        first = upto + 1
        for place, (number, opener) in enumerate(self._openers):
            if number > upto:
                break
            first = min(first, number)
            empty: AudioFrame | Text
            if type(opener) is AudioFrame:
                empty = AudioFrame(b"", UNNUMBERED, last=True, utterance=number)
            else:
                empty = Text(stream=stream, text="")
            self._openers[place] = number, empty
            words += empty, Cancel(stream=stream, utterance=number)
        if first > 0:
            words.insert(0, Cancel(stream=stream, utterance=first - 1))
        return words

    def _forget_sent(self) -> None:
        openers = self._openers
        while openers and openers[0][1].seq not in _UNSENT:
            openers.popleft()


class Unsaid:
    """Tells which queued entries belong to cancelled utterances, asked from the last to the first.

    Text and marks do not say which utterance is theirs; counting back its ends from the one that
    is being said does.

    Args:
        utterance: Number of the one that is being said.
        cancelled: The last one cancelled.
    """

    __slots__ = ("_cancelled", "_utterance")

    def __init__(self, utterance: int, cancelled: int) -> None:
        self._utterance = utterance
        self._cancelled = cancelled

    def __call__(self, item: Item) -> bool:
        if type(item) is Cancel:
            self._utterance = -1  # an older cancel, which the new one includes, and what it ended
        elif type(item) is Finalize or (type(item) is AudioFrame and item.last):
            self._utterance -= 1
        return self._utterance <= self._cancelled and type(item) is not StreamEnd
