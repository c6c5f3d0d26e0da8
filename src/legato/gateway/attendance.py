"""Whether there is a worker for each stream: one that was accepted does not wait for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from legato.bus.base import Record, Registry
from legato.bus.records import PROCESS_KIND, TENANT, decode_process
from legato.errors import EngineUnavailable, LegatoError
from legato.gateway.catalog import ECHO
from legato.gateway.relay import Relay
from legato.protocol.messages import Notice
from legato.telemetry.logs import logger

EVERY: Final = 1.0
"""Seconds between looks."""

TOLD_AFTER: Final = 2.0
"""Seconds without a worker after which the client is told; a dead one's record lives for 5 s."""

LOADING: Final = 5
"""How many times as long is waited while a worker loads the engine."""

RETRY_AFTER: Final = 5.0
"""Seconds after which a client may try again: until then a worker may have been started."""

Post = tuple[str, str]
"""A task and the name of an engine."""

log = logger(__name__)


@dataclass(slots=True)
class _Wait:
    since: float
    told: bool = False


class Attendance:
    """Tells the clients of streams for whose engine no worker is there, and fails them at last.

    What is looked at are the workers' own records. A stream that waits behind others for a worker
    that lives, however long that takes, is left alone.

    Args:
        registry: Of the bus.
        relays: Returns the streams of this gateway.
        clock: Monotonic seconds.
        patience: Seconds that a stream waits for a worker.
    """

    def __init__(
        self,
        registry: Registry,
        relays: Callable[[], Iterable[Relay]],
        clock: Callable[[], float],
        *,
        patience: float,
    ) -> None:
        self._registry = registry
        self._relays = relays
        self._clock = clock
        self._patience = patience
        self._waits: dict[Relay, _Wait] = {}

    async def run(self) -> None:
        """Look each second, for ever."""
        while True:
            await asyncio.sleep(EVERY)
            try:
                await self.look()
            except LegatoError as error:  # nobody knows who is there
                self._waits.clear()
                log.debug("workers cannot be looked at", code=error.code)
            except Exception:  # top of a task
                log.exception("looking at the workers failed")

    async def look(self) -> None:
        """Look at the workers once.

        Raises:
            BusUnavailable: If the registry cannot be read.
        """
        if not any(True for _ in self._relays()):
            self._waits.clear()
            return
        states = states_of(await self._registry.list(TENANT, PROCESS_KIND))
        now, waits = self._clock(), self._waits
        self._waits = {}
        for relay in list(self._relays()):
            post = (relay.stream.start.task, relay.stream.engine)
            state = states.get(post)
            if state == "ready" or relay.fault is not None:
                continue
            wait = self._waits[relay] = waits.get(relay) or _Wait(now)
            self._attend(relay, wait, now - wait.since, loading=state == "loading")

    def _attend(self, relay: Relay, wait: _Wait, waited: float, *, loading: bool) -> None:
        engine = relay.stream.engine
        if waited >= self._patience * (LOADING if loading else 1):
            log.warning("no worker came for a stream", engine=engine, stream=relay.key.stream_id)
            relay.fail_with(
                EngineUnavailable(
                    f"no worker for {engine} came within {waited:.0f} s; start one, or try again",
                    retry_after=RETRY_AFTER,
                )
            )
        elif waited >= TOLD_AFTER and not wait.told and relay.listener is not None:
            wait.told = True
            message = f"no worker for {engine} is there; waiting for one"
            relay.listener.pass_notice(relay.stream, Notice(kind="queued", message=message))
            relay.listener.wake()


def states_of(records: Mapping[str, Record]) -> Mapping[Post, str]:
    """Return how the engines of all workers are, by the best of each: `ready` or `loading`."""
    states: dict[Post, str] = {}
    for record in records.values():
        try:
            process = decode_process(record.value)
        except msgspec.ValidationError:
            continue  # of another version; the status tells of it
        if process.role != "worker":
            continue
        states[ECHO, ECHO] = "ready"  # every worker has it, from the first
        for load in process.engines:
            post = (load.kind, load.name)
            if load.state == "ready" or (load.state == "loading" and post not in states):
                states[post] = load.state
    return states
