"""Credit: how far ahead of its reader a sender may run, as absolute, monotone limits."""

from __future__ import annotations

from legato.errors import RateLimited


class Credit:
    """The sender's side: what was granted and what is spent, both counted from the stream's start.

    Units are the caller's: samples for audio, characters for text.

    Attributes:
        limit: Where to stop, or None for no limit.
        spent: Where the sender is.
    """

    __slots__ = ("limit", "spent")

    def __init__(self, limit: int | None = None) -> None:
        self.limit = limit
        self.spent = 0

    def grant(self, limit: int | None) -> None:
        """Raise the limit; a lower one than before is old news and changes nothing."""
        if limit is not None and (self.limit is None or limit > self.limit):
            self.limit = limit

    def allows(self, upto: int) -> bool:
        """Tell whether the sender may go on up to position `upto`."""
        return self.limit is None or upto <= self.limit


class Window:
    """The receiver's side: grants `size` beyond what is consumed.

    Attributes:
        received: Amount that came; the receiver counts it.
        consumed: Amount that is done with.
    """

    __slots__ = ("_size", "consumed", "received")

    def __init__(self, size: int) -> None:
        self._size = size
        self.received = 0
        self.consumed = 0

    @property
    def limit(self) -> int:
        """Absolute credit to announce."""
        return self.consumed + self._size

    def check(self) -> None:
        """Check that no more came than was granted.

        Raises:
            RateLimited: If more did.
        """
        if self.received > self.consumed + self._size:
            raise RateLimited(
                f"{self.received} sent, {self.limit} allowed: wait for credit in the next ack"
            )

    def consume(self, upto: int) -> None:
        """Note that everything before `upto` is done with; never goes back."""
        if upto > self.consumed:
            self.consumed = upto
