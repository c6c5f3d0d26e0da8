"""What happened, in order: one JSON object a line, as Jepsen keeps it.

`invoke` begins something, `ok` and `fail` are known outcomes. A time-out is `info`: nobody knows.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Type = Literal["invoke", "ok", "fail", "info"]


@dataclass(frozen=True, slots=True)
class Event:
    """One line.

    Args:
        t: Monotonic seconds.
        proc: Who saw it: a client, the nemesis, the tap.
        op: What it is about: `stream`, `audio`, `final`, `fault`, `entry`, `keys`, `usage`.
        type: Beginning or outcome.
        facts: The rest.
    """

    t: float
    proc: str
    op: str
    type: Type
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def stream(self) -> str:
        """The stream that it is about, or nothing."""
        return str(self.facts.get("stream", ""))

    def line(self) -> str:
        """Itself as JSON."""
        head = {"t": round(self.t, 6), "proc": self.proc, "op": self.op, "type": self.type}
        return json.dumps({**head, **self.facts}, ensure_ascii=False)


class History:
    """Grows while a case runs; readers may wait for it to say something.

    Args:
        path: Where its lines go as well, or None.
        clock: Monotonic seconds.
    """

    def __init__(
        self, path: Path | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.path = path
        self.events: list[Event] = []
        self._clock = clock
        self._waiters: list[tuple[Callable[[Event], bool], asyncio.Event]] = []

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def record(self, proc: str, op: str, type: Type, **facts: Any) -> Event:  # noqa: A002  (its name in every history)
        """Add an event of now."""
        event = Event(self._clock(), proc, op, type, facts)
        self.events.append(event)
        for matches, reached in self._waiters:
            if matches(event):
                reached.set()
        return event

    async def until(self, matches: Callable[[Event], bool], timeout: float) -> bool:
        """Wait for an event that is still to come; False if it did not in time."""
        waiter = (matches, asyncio.Event())
        self._waiters.append(waiter)
        try:
            async with asyncio.timeout(timeout):
                await waiter[1].wait()
        except TimeoutError:
            return False
        finally:
            self._waiters.remove(waiter)
        return True

    def save(self) -> None:
        """Write all lines to `path`."""
        if self.path is not None:
            text = "".join(event.line() + "\n" for event in self.events)
            self.path.write_text(text, encoding="utf-8")


def load(path: Path) -> list[Event]:
    """Read a saved history back, so that a checker can look at it again."""
    events = []
    for line in path.read_text(encoding="utf-8").splitlines():
        facts = json.loads(line)
        t, proc, op, type_ = (facts.pop(name) for name in ("t", "proc", "op", "type"))
        events.append(Event(t, proc, op, type_, facts))
    return events
