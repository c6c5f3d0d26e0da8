"""What is asked of a server: some commands in one go, and what becomes of the replies."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from legato.bus.redis.link import Command, Reply, pack
from legato.errors import BusUnavailable, LegatoError

Outcome = list[Reply] | LegatoError
"""One reply for each command, or why there is none."""


class Unknown(BusUnavailable):
    """The connection was lost: nobody knows whether a call was carried out."""


class Call:
    """Commands that are sent together and, if need be, sent again together.

    Whoever makes one sees to it that carrying it out twice does no harm: when a connection is lost
    nobody knows what the server has done.

    Args:
        key: A key of the commands; it decides which node of a Cluster is asked.
        commands: One or more, of one slot.
        done: Called once with the outcome; must not raise.
        once: Never send it again, and not on another connection than the present one: the outcome
            is `Unknown` instead.

    Attributes:
        deadline: When it ends with `BusUnavailable`, by the loop's clock.
        sent_at: When it was last sent.
        replies: Those that came since.
        tries: How often it was sent.
        reloads: How often the server lacked a script of it.
        asking: Whether it was redirected for this one time.
    """

    __slots__ = (
        "_done",
        "asking",
        "count",
        "deadline",
        "key",
        "once",
        "packed",
        "reloads",
        "replies",
        "sent_at",
        "tries",
    )

    def __init__(
        self,
        key: str,
        commands: Sequence[Command],
        done: Callable[[Outcome], None],
        *,
        once: bool = False,
    ) -> None:
        self._done: Callable[[Outcome], None] | None = done
        self.key = key
        self.packed = [pack(command) for command in commands]
        self.count = len(self.packed)
        self.once = once
        self.replies: list[Reply] = []
        self.deadline = 0.0
        self.sent_at = 0.0
        self.asking = False
        self.tries = self.reloads = 0

    @property
    def is_done(self) -> bool:
        """Whether the outcome is known."""
        return self._done is None

    def finish(self, outcome: Outcome) -> None:
        """Tell the outcome, unless that is done."""
        done, self._done = self._done, None
        if done is not None:
            done(outcome)


def into_future(future: asyncio.Future[list[Reply]]) -> Callable[[Outcome], None]:
    """Return a `done` that fulfils a future, unless nobody waits for it any more."""

    def done(outcome: Outcome) -> None:
        if future.done():
            return
        if isinstance(outcome, LegatoError):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)

    return done
