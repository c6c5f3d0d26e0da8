"""Resumes of one connection: whoever guesses is stopped, whoever comes back is not."""

from __future__ import annotations

from legato.errors import LegatoError, RateLimited, SessionExpired


class Attempts:
    """Counts the resumes that wait for their answer and those that named no stream.

    Args:
        limit: Of both together; as many as a connection may have streams.
    """

    __slots__ = ("_failed", "_limit", "_waiting")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._waiting: dict[int, int] = {}
        self._failed = 0

    def ask(self, number: int) -> None:
        """Let a resume of stream `number` wait for its answer.

        Raises:
            RateLimited: If there are too many.
        """
        if self._failed + sum(self._waiting.values()) >= self._limit:
            raise RateLimited(
                f"{self._limit} resumes, the limit, wait or named no stream of yours;"
                " connect again and resume only what you have"
            )
        self._waiting[number] = self._waiting.get(number, 0) + 1

    def answer(self, number: int, error: LegatoError | None = None) -> None:
        """Note the answer to a resume of stream `number`, if one waits; None grants it."""
        waiting = self._waiting.pop(number, 0)
        if not waiting:
            return
        if waiting > 1:
            self._waiting[number] = waiting - 1
        # Of all answers this is the only one that a guessed token gets.
        self._failed += isinstance(error, SessionExpired)
