"""What a client would say again to a server that has lost a stream's history."""

from __future__ import annotations

from collections import deque

from legato.audio import AudioFormat
from legato.protocol.media import AudioFrame
from legato.protocol.messages import StreamEnd
from legato.session.lane import UNNUMBERED, Item


class History:
    """Keeps what was said until what follows from it is here.

    Audio is kept until it is done with: for a recognition what the server says is committed, for
    an echo what has come back. Everything else is kept until the utterance has ended, and so is
    text: its audio is made again from the utterance's beginning. Credit bounds it all.

    Args:
        format: Of the audio.

    Attributes:
        done_upto: Samples of up that are done with.
        passed: The last utterance of which audio was let go, or -1.
    """

    __slots__ = ("_format", "_items", "done_upto", "passed")

    def __init__(self, format: AudioFormat) -> None:  # noqa: A002  (the field's name everywhere)
        self._format = format
        self._items: deque[tuple[int, Item]] = deque()
        self.done_upto = 0
        self.passed = -1

    def keep(self, utterance: int, item: Item) -> None:
        """Note what was said as part of an utterance."""
        self._items.append((utterance, item))

    def done(self, upto: int) -> None:
        """Let go of audio before sample `upto`; what ends an utterance stays."""
        if upto <= self.done_upto:
            return
        self.done_upto = upto
        items = self._items
        while items and self._is_done(items[0][1]):
            self.passed, _ = items.popleft()

    def ended(self, utterance: int) -> None:
        """Let go of the utterances up to `utterance`."""
        items = self._items
        while items and items[0][0] <= utterance and type(items[0][1]) is not StreamEnd:
            items.popleft()

    def again(self, spent: int) -> tuple[int, list[tuple[int, Item]]]:
        """Return what is to be said again, as if it had never been sent.

        Args:
            spent: Position of the next new sample.

        Returns:
            Position of the first sample of it, and the entries, each with its utterance.
        """
        said = []
        first: int | None = None
        for utterance, item in self._items:
            if type(item) is AudioFrame:
                self._cut(item)
                if first is None:
                    first = spent if item.seq == UNNUMBERED else item.sample
                item.seq = UNNUMBERED
            else:
                item.seq = None
            said.append((utterance, item))
        return spent if first is None else first, said

    def _is_done(self, item: Item) -> bool:
        if type(item) is not AudioFrame or item.last or item.seq == UNNUMBERED:
            return False
        return item.sample + self._format.samples_in(item.payload) <= self.done_upto

    def _cut(self, frame: AudioFrame) -> None:
        """Leave out of a frame that was sent what is done with; a packet stays whole."""
        over = self.done_upto - frame.sample
        if frame.seq != UNNUMBERED and over > 0:
            width = self._format.sample_bytes
            cut = min(over * width, len(frame.payload))
            frame.payload = frame.payload[cut:]
            frame.sample += cut // width if cut else 0
