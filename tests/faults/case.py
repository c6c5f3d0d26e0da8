"""One case: streams under way, something that breaks, and the checker's word on the history."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

import legato
from tests.faults import pressure
from tests.faults.checker import Promise, Reference, Violation, check, percentile_99
from tests.faults.history import Event, History
from tests.faults.nemesis import Fault, Kind, Nemesis
from tests.faults.system import System
from tests.faults.tap import Tap
from tests.faults.workload import GRACE, Plan, Speaker, undisturbed

_DELIVERIES = ("audio", "final", "partial")

_names = itertools.count()
_references: dict[Plan, Reference] = {}
"""What plans give, found once: it is the same on every system."""


def _is_end(event: Event) -> bool:
    return event.op == "stream" and event.type != "invoke"


class _Enough:
    """Whether so many streams have delivered something, or ended.

    Args:
        count: How many.
        seen: Those that have.
    """

    def __init__(self, count: int, seen: set[str]) -> None:
        self._count = count
        self._seen = seen

    @property
    def reached(self) -> bool:
        return len(self._seen) >= self._count

    def __call__(self, event: Event) -> bool:
        if event.op in _DELIVERIES or _is_end(event):
            self._seen.add(event.stream)
        return self.reached


class Case:
    """Runs streams on a system while it is disturbed.

    Args:
        system: Where.
        seed: Of all that is drawn.
        path: Where the history goes.
        grace: Seconds that a stream may take beyond its length.

    Attributes:
        history: What happened.
        rng: For what the case draws.
    """

    def __init__(
        self, system: System, *, seed: int, path: Path | None = None, grace: float = GRACE
    ) -> None:
        self.system = system
        self.history = History(path)
        self.rng = random.Random(seed)
        self.references: dict[str, Reference] = {}
        self._nemesis = Nemesis(system, self.history)
        self._prefix = f"case{next(_names)}-{seed}"
        self._grace = grace
        self._tap: Tap | None = None
        self._streams = itertools.count()
        self._earlier: set[str] = set()

    async def prepare(self, plans: Sequence[Plan]) -> None:
        """Find out what the plans give when nothing is wrong."""
        await self.system.mend()
        wanted = dict.fromkeys(replace(plan, spoilt="") for plan in plans if not plan.poison)
        unknown = [plan for plan in wanted if plan not in _references]
        if unknown:
            found = await undisturbed(self.system.url, unknown, prefix=f"{self._prefix}-ref")
            _references.update(found)

    @asynccontextmanager
    async def streams(self, plans: Sequence[Plan], *, clients: int = 1) -> AsyncIterator[None]:
        """Run streams for the length of the block and to their ends."""
        await self.prepare(plans)
        self._earlier = {event.stream for event in self.history}
        async with self._tapped(), self._connected(clients) as connected:
            noting = asyncio.create_task(pressure.note(self.history))
            try:
                async with asyncio.TaskGroup() as group:
                    for client, plan in zip(itertools.cycle(connected), plans, strict=False):
                        speaker = self.speaker(client, plan)
                        group.create_task(speaker.run(self._grace))
                    yield
            finally:
                noting.cancel()
            await self._note_keys()

    def speaker(self, client: legato.Client, plan: Plan) -> Speaker:
        """A stream that is not begun yet."""
        return Speaker(client, plan, self.history, stream_id=self.name(plan))

    def name(self, plan: Plan) -> str:
        """Name a stream that will be held against what its plan gives undisturbed."""
        name = f"{self._prefix}-{next(self._streams)}"
        whole = replace(plan, spoilt="")
        if whole in _references:
            self.references[name] = _references[whole]
        return name

    async def moment(self, longest: float = 1.5, *, streams: int = 1) -> None:
        """Wait until streams move, and then for a moment that the seed decides.

        Args:
            longest: Of that moment, in seconds.
            streams: How many of them must deliver something from now on, or have ended.
        """
        ended = {e.stream for e in self.history if _is_end(e)}
        enough = _Enough(streams, ended - self._earlier)
        if not enough.reached:
            await self.history.until(enough, GRACE)
        await asyncio.sleep(self.rng.uniform(0, longest))

    async def fault(self, kind: Kind, length: float = 0.0, choice: int | None = None) -> None:
        """Do a fault and mend it."""
        drawn = self.rng.randrange(1_000) if choice is None else choice
        await self._nemesis.do(Fault(kind, length=length, choice=drawn))

    async def faults(self, schedule: Sequence[Fault]) -> None:
        """Do a schedule of them."""
        await self._nemesis.follow(schedule)

    def begin_fault(self, kind: str) -> None:
        """Tell of a fault that the case does by itself."""
        self.history.record("nemesis", "fault", "invoke", kind=kind)

    def codes(self) -> dict[str, str]:
        """How streams ended: `ok`, `unknown`, or the code of the failure."""
        return {
            event.stream: {"ok": "ok", "info": "unknown"}.get(
                event.type, str(event.facts.get("code"))
            )
            for event in self.history
            if event.op == "stream" and event.type != "invoke"
        }

    def violations(self, promise: Promise | None = None, *, lag: float = 0.0) -> list[Violation]:
        """What the checker finds."""
        self.history.save()
        return check(self.history.events, self.references, promise or Promise(), baseline=lag)

    def lag(self) -> float:
        """99th percentile of the lag of echoes."""
        return percentile_99([e.facts["lag"] for e in self.history if "lag" in e.facts])

    async def usage(self, phase: str) -> None:
        """Tell what processes and Redis hold now."""
        keys = len(await self.system.keys())
        for node in self.system.nodes:
            self.history.record(
                "test", "usage", "ok", phase=phase, of=node.name, keys=keys, **node.usage()
            )

    async def _note_keys(self) -> None:
        """Tell what is left of streams that ended well; the others' window is open still."""
        well = [
            event.stream for event in self.history if (event.op, event.type) == ("stream", "ok")
        ]
        if self.system.redis is None or not well:
            return
        left, since = await self.system.gone(well)
        for stream in well:
            keys = left.get(stream, [])
            self.history.record("test", "keys", "ok", stream=stream, keys=keys, since=since)

    @asynccontextmanager
    async def _connected(self, count: int) -> AsyncIterator[list[legato.Client]]:
        clients = [legato.connect(self.system.url) for _ in range(count)]
        try:
            yield clients
        finally:
            for client in clients:
                await client.close()

    @asynccontextmanager
    async def _tapped(self) -> AsyncIterator[None]:
        """Follow the logs of all streams for the length of the block."""
        if self.system.redis is None:
            yield
            return
        tap = Tap(self.system.redis.url, self.history)
        await tap.start()
        watching = asyncio.create_task(self._watch(tap))
        try:
            yield
        finally:
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching
            await tap.stop()

    async def _watch(self, tap: Tap) -> None:
        followed: set[str] = set()

        def is_new(event: Event) -> bool:
            return event.op in _DELIVERIES and event.stream not in followed

        while True:
            await self.history.until(is_new, GRACE)
            for event in self.history.events:
                if is_new(event):
                    followed.add(event.stream)
                    tap.follow(event.stream)
