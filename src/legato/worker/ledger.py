"""Which text of a synthesis is done with, and where another worker would go on."""

from __future__ import annotations

from collections import deque

from legato.bus.base import Committed, Restart
from legato.worker.takeover import Standing


class Ledger:
    """Keeps account of the up entries of one stream.

    An entry is done with when all audio of the text up to its end is in the down log. Of an open
    utterance all entries are kept for a restart, as the text is cut into segments from its start.

    Args:
        standing: Where the stream stands.

    Attributes:
        utterance: Number of the utterance that the next text belongs to.
        is_open: Whether text of it has been taken.
        chars: Characters of it taken.
        spoken_chars: Characters of it whose audio was all written, by whoever went before.
        spoken_samples: Samples written past these, to be left out when they are made again.
    """

    def __init__(self, standing: Standing) -> None:
        committed = standing.committed
        restart = committed.restart or Restart(committed.seq + 1, standing.utterance)
        self._seq = committed.seq
        self._done_chars = committed.chars
        self.utterance = restart.utterance
        self.is_open = False
        self.chars = 0
        self.spoken_chars = self.spoken_samples = 0
        if self.utterance == standing.utterance:
            self.spoken_chars = restart.chars
            self.spoken_samples = restart.samples + standing.samples_since
        self._first_seq = 0
        self._entries: deque[tuple[int, int, int]] = deque()
        self._boundaries: deque[tuple[int, int]] = deque()
        self._chars_before = self.spoken_chars
        self._sample_before = standing.sample - self.spoken_samples
        self._marked_sample = standing.sample

    def take(self, seq: int, chars: int = 0) -> None:
        """Take an entry, which may be a text, in its order."""
        if not self.is_open:
            self.is_open = True
            self._first_seq = seq
        self.chars += chars
        self._entries.append((seq, self.chars, chars))

    def pass_over(self, seq: int) -> None:
        """Take an entry that opens nothing and changes nothing."""
        if self.is_open:
            self.take(seq)
        else:
            self._finish(seq, 0)

    def bound(self, chars: int, sample: int) -> None:
        """Note that the audio of the first `chars` characters ends at `sample` of down."""
        self._boundaries.append((sample, chars))

    def advance(self, sample: int) -> bool:
        """Note that down is written up to `sample`; tell whether that finished any text."""
        moved = False
        while self._boundaries and self._boundaries[0][0] <= sample:
            self._sample_before, self._chars_before = self._boundaries.popleft()
            moved = True
        while moved and self._entries and self._entries[0][1] <= self._chars_before:
            seq, _, chars = self._entries.popleft()
            self._finish(seq, chars)
        return moved

    def drop(self) -> None:
        """Note that nothing more will be said of what was taken: all of it is done with."""
        self._boundaries.clear()
        while self._entries:
            seq, _, chars = self._entries.popleft()
            self._finish(seq, chars)
        self._first_seq = self._seq + 1

    def close(self, seq: int, sample: int) -> None:
        """Take the entry that ends the utterance; down is written up to `sample`."""
        self.drop()
        self._finish(seq, 0)
        self.utterance += 1
        self.is_open = False
        self.chars = self.spoken_chars = self.spoken_samples = 0
        self._chars_before = 0
        self._sample_before = sample

    def unmarked(self, sample: int) -> int:
        """Return the samples of down written since the last mark."""
        return sample - self._marked_sample

    def mark(self, sample: int, *, over: bool = False) -> Committed:
        """Return the mark to write when down is written up to `sample`.

        Args:
            sample: Of down.
            over: Whether the utterance has ended, while text of it may still come.
        """
        self._marked_sample = sample
        restart = None
        if self.is_open and over:
            restart = Restart(self._seq + 1, self.utterance)
        elif self.is_open:
            restart = Restart(
                self._first_seq,
                self.utterance,
                self._chars_before,
                sample - self._sample_before,
            )
        return Committed(self._seq, chars=self._done_chars, restart=restart)

    def _finish(self, seq: int, chars: int) -> None:
        # After a take-over, entries come again that were done with and counted.
        if seq > self._seq:
            self._seq = seq
            self._done_chars += chars
