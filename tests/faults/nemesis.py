"""What breaks a system: seeded schedules of faults, each bounded in time and mended after."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from tests.faults.history import History
from tests.faults.node import Node
from tests.faults.system import System

Kind = Literal[
    "cut_rst",
    "cut_fin",
    "half_open",
    "blackout",
    "gateway_kill",
    "worker_kill",
    "worker_stop",
    "engine_kill",
    "redis_kill",
    "redis_restart",
    "redis_stop",
    "gateway_partition",
    "worker_partition",
    "link_reset",
    "rolling",
    "script_flush",
]

LENGTHS: dict[Kind, tuple[float, float]] = {
    "cut_rst": (0, 0),
    "cut_fin": (0, 0),
    "half_open": (0, 0),
    "blackout": (0.5, 3),
    "gateway_kill": (0, 1),
    "worker_kill": (0, 1),
    "worker_stop": (2.5, 4),
    "engine_kill": (0, 0),
    "redis_kill": (0.1, 1.5),
    "redis_restart": (0.1, 1.5),
    "redis_stop": (0.5, 2),
    "gateway_partition": (0.5, 2),
    "worker_partition": (0.5, 2),
    "link_reset": (0, 0),
    "rolling": (0, 0),
    "script_flush": (0, 0),
}
"""Kinds, and the seconds that they may last; all of them a system with AOF must survive."""

EMBEDDED: frozenset[Kind] = frozenset({"cut_rst", "cut_fin", "half_open", "blackout"})
"""Those that can also be done to a system in one process."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault.

    Args:
        kind: What is done.
        at: Seconds from the beginning of the schedule.
        length: Seconds until it is mended.
        choice: Picks one of several nodes.
    """

    kind: Kind
    at: float = 0.0
    length: float = 0.0
    choice: int = 0

    def __str__(self) -> str:
        return f"{self.kind}@{self.at:.1f}" + (f"+{self.length:.1f}s" if self.length else "")


def schedule(
    rng: random.Random, *, span: float, count: int, kinds: Sequence[Kind] = tuple(LENGTHS)
) -> list[Fault]:
    """Draw faults that begin within `span` seconds, one after the other."""
    found = []
    for at in sorted(rng.uniform(0.2, span) for _ in range(count)):
        kind = rng.choice(kinds)
        length = round(rng.uniform(*LENGTHS[kind]), 2)
        found.append(Fault(kind, round(at, 2), length, rng.randrange(1_000)))
    return found


class Nemesis:
    """Does faults to a system and tells the history of them.

    Args:
        system: The victim.
        history: Where they are told.
    """

    def __init__(self, system: System, history: History) -> None:
        self._system = system
        self._history = history
        self._actions: dict[Kind, Callable[[Fault], Awaitable[object]]] = {
            "cut_rst": self._cut,
            "cut_fin": self._cut,
            "half_open": self._half_open,
            "blackout": self._blackout,
            "gateway_kill": self._gateway_kill,
            "worker_kill": self._worker_kill,
            "worker_stop": self._worker_stop,
            "engine_kill": self._engine_kill,
            "redis_kill": self._redis_down,
            "redis_restart": self._redis_down,
            "redis_stop": self._redis_stop,
            "gateway_partition": self._partition,
            "worker_partition": self._partition,
            "link_reset": self._link_reset,
            "rolling": self._rolling,
            "script_flush": self._script_flush,
        }

    async def do(self, fault: Fault) -> None:
        """Do one fault and mend it."""
        self._history.record("nemesis", "fault", "invoke", kind=fault.kind, length=fault.length)
        await self._actions[fault.kind](fault)
        self._history.record("nemesis", "fault", "ok", kind=fault.kind)

    async def follow(self, faults: Sequence[Fault]) -> None:
        """Do all faults, each at its time or as soon as the one before is mended."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        for fault in faults:
            if (wait := began + fault.at - loop.time()) > 0:
                await asyncio.sleep(wait)
            await self.do(fault)

    async def _cut(self, fault: Fault) -> None:
        self._system.front.cut("rst" if fault.kind == "cut_rst" else "fin")

    async def _half_open(self, fault: Fault) -> None:
        self._system.front.freeze(new=False)

    async def _blackout(self, fault: Fault) -> None:
        self._system.front.freeze()
        await asyncio.sleep(fault.length)
        self._system.front.thaw()

    async def _gateway_kill(self, fault: Fault) -> None:
        await self._kill(_one(self._system.gateways, fault), fault)

    async def _worker_kill(self, fault: Fault) -> None:
        await self._kill(_one(self._system.workers, fault), fault)

    async def _kill(self, node: Node, fault: Fault) -> None:
        await node.kill()
        await asyncio.sleep(fault.length)
        await node.start()

    async def _worker_stop(self, fault: Fault) -> None:
        node = _one(self._system.workers, fault)
        node.freeze()
        try:
            await asyncio.sleep(fault.length)
        finally:
            node.thaw()

    async def _engine_kill(self, fault: Fault) -> None:
        for node in self._system.workers:
            for pid in node.engine_processes():
                with suppress(ProcessLookupError):  # it may end by itself at this moment
                    os.kill(pid, signal.SIGKILL)

    async def _redis_down(self, fault: Fault) -> None:
        await self._system.redis_down(gently=fault.kind == "redis_restart")
        await asyncio.sleep(fault.length)
        await self._system.redis_up()

    async def _redis_stop(self, fault: Fault) -> None:
        redis = self._system.redis
        assert redis is not None
        redis.freeze()
        try:
            await asyncio.sleep(fault.length)
        finally:
            redis.thaw()

    async def _partition(self, fault: Fault) -> None:
        link = self._system.links[fault.kind.removesuffix("_partition")]
        link.freeze()
        try:
            await asyncio.sleep(fault.length)
        finally:
            link.thaw()

    async def _link_reset(self, fault: Fault) -> None:
        for link in self._system.links.values():
            link.cut("rst")

    async def _rolling(self, fault: Fault) -> None:
        for pair in zip(self._system.gateways, self._system.workers, strict=True):
            await asyncio.gather(*(_renew(node) for node in pair))

    async def _script_flush(self, fault: Fault) -> None:
        redis = self._system.redis
        assert redis is not None
        await asyncio.to_thread(redis.cli, "script", "flush")


def _one(nodes: Sequence[Node], fault: Fault) -> Node:
    return nodes[fault.choice % len(nodes)]


async def _renew(node: Node) -> None:
    await node.terminate()
    await node.start()
