"""An engine that never blocks, in threads of the worker's own process."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from legato.engines.base import EngineInfo
from legato.errors import EngineFailed, EngineUnavailable, LegatoError
from legato.telemetry.logs import logger
from legato.worker.board import NoBoard
from legato.worker.calls import (
    CallTable,
    EngineCall,
    EngineLost,
    EngineRefused,
    Freed,
    Request,
    unnoticed,
)
from legato.worker.config import EngineSpec, WorkerConfig
from legato.worker.frames import Abandon, CallInput, CallOutput, Failed, Finished, Listen, Speak
from legato.worker.loading import make_engine
from legato.worker.service import Engine, Service, service_for
from legato.worker.watch import Watch, timeout_error

log = logger("legato.worker.inline")


class InlineHost:
    """Serves calls as an `EngineProcess` does, for engines whose info says `inline`.

    A call that hangs all the same fails after the time-out, but its thread keeps its slot.

    Args:
        spec: Which engine.
        config: For the time-out.
        freed: Called when a slot becomes free, with the seconds for which it was taken.
    """

    def __init__(self, spec: EngineSpec, config: WorkerConfig, *, freed: Freed = unnoticed) -> None:
        self._spec = spec
        self._freed = freed
        self._config = config
        self._loop = asyncio.get_running_loop()
        self._engine: Engine | None = None
        self._services: dict[int, Service] = {}
        self._calls = CallTable(0, self._send, self._loop.time, freed=self._freed)
        self._timer: asyncio.TimerHandle | None = None
        self._stopped = self._loop.create_future()

    @property
    def calls(self) -> CallTable:
        """Those that it has, and the slots for more."""
        return self._calls

    async def start(self) -> EngineInfo:
        """Load the engine.

        Raises:
            EngineRefused: If it cannot be loaded.
        """
        spec = self._spec
        info: EngineInfo | None = None
        try:
            engine = await asyncio.to_thread(
                make_engine, spec.kind, spec.name, spec.target, spec.options
            )
            info = engine.info
            await asyncio.to_thread(engine.load)
        except LegatoError as error:
            raise EngineRefused(error.message, info) from error
        except Exception as error:  # whatever an engine's start may raise
            log.exception("engine cannot be loaded", engine=spec.name)
            message = f"{spec.name} cannot be loaded: it raised {type(error).__name__}"
            raise EngineRefused(message, info) from error
        self._begin(engine)
        return engine.info

    def open(self, request: Request) -> EngineCall:
        """Begin a call; the caller has seen that a slot is free."""
        return self._calls.open(request)

    def keep_prompts(self, digests: Collection[str]) -> None:
        """Have the engine forget the recordings of voices; none is kept for it here."""

    async def lost(self) -> str:
        """Wait until `stop`."""
        await asyncio.shield(self._stopped)
        return "stopped"

    async def stop(self) -> None:
        """End all calls and free the engine."""
        if self._timer is not None:
            self._timer.cancel()
        for call in self._calls.clear():
            call.fail(EngineLost(f"{self._spec.name} was stopped"))
            self._send(Abandon(call.number))
        engine, self._engine = self._engine, None
        if engine is not None:
            await asyncio.to_thread(engine.close)
        if not self._stopped.done():
            self._stopped.set_result(None)

    def _begin(self, engine: Engine) -> None:
        self._engine = engine
        slots = min(engine.info.slots, self._spec.slots or engine.info.slots)
        self._calls = CallTable(slots, self._send, self._loop.time, freed=self._freed)
        self._board = NoBoard(slots)
        self._watch = Watch(
            self._calls,
            self._board,
            timeout=self._config.engine_timeout,
            clock=self._loop.time,
        )
        self._look()

    def _look(self) -> None:
        for call in self._watch.hung():
            call.give_up(timeout_error(self._spec.name, self._config.engine_timeout))
        self._timer = self._loop.call_later(self._watch.interval, self._look)

    def _send(self, command: Speak | Listen | CallInput) -> None:
        if isinstance(command, Speak | Listen):
            if self._engine is None:
                raise EngineUnavailable(f"{self._spec.name} is not loaded")
            service = service_for(
                command, self._engine, board=self._board, send=self._send_from_thread
            )
            self._services[command.call] = service
            service.start()
        elif (service_of_call := self._services.get(command.call)) is not None:
            service_of_call.deliver(command)

    def _send_from_thread(self, output: CallOutput) -> None:
        try:
            self._loop.call_soon_threadsafe(self._receive, output)
        except RuntimeError:  # the loop has closed: nobody listens any more
            return

    def _receive(self, output: CallOutput) -> None:
        if isinstance(output, Finished | Failed):
            self._services.pop(output.call, None)
        if isinstance(output, Failed) and output.code == EngineFailed.code:
            log.warning("engine failed", engine=self._spec.name, trace=output.trace)
        self._calls.receive(output)
