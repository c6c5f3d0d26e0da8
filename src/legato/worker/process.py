"""The worker's side of an engine process: spawned, watched by progress, ended by its id."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Collection
from typing import Final, cast

from legato.engines.base import EngineInfo
from legato.errors import EngineFailed, Internal
from legato.telemetry.logs import logger
from legato.worker.board import Board, SlotState
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
from legato.worker.cputime import cpu_seconds
from legato.worker.frames import (
    Command,
    Failed,
    Ready,
    Reply,
    Shutdown,
    Splitter,
    Unavailable,
    decode_reply,
    encode,
)
from legato.worker.loading import load_of
from legato.worker.teaching import Teacher
from legato.worker.template import Child, Template
from legato.worker.watch import Watch, timeout_error

EXIT_GRACE: Final = 1.0
"""Seconds that a process has to free its engine before it is killed."""

DEFAULT_SLOTS: Final = 64
"""Slots of the board, which is made before the engine can say how many it needs."""

log = logger("legato.worker.process")


class EngineProcess:
    """One process with one engine in it.

    Args:
        spec: Which engine.
        config: For the time-outs.
        freed: Called when a slot becomes free, with the seconds for which it was taken.
        template: Of which it is forked, where that can be; else it is started afresh.
    """

    def __init__(
        self,
        spec: EngineSpec,
        config: WorkerConfig,
        *,
        freed: Freed = unnoticed,
        template: Template | None = None,
    ) -> None:
        self._spec = spec
        self._template = template
        self._freed = freed
        self._config = config
        self._loop = asyncio.get_running_loop()
        self._board: Board | None = None
        self._process: Child | None = None
        self._link: _Link | None = None
        self._calls = CallTable(0, self._send, self._loop.time, freed=self._freed)
        self._loaded: asyncio.Future[EngineInfo] = self._loop.create_future()
        self._lost: asyncio.Future[str] = self._loop.create_future()
        self._timer: asyncio.TimerHandle | None = None
        self._cause = ""
        self._teacher = Teacher()

    @property
    def calls(self) -> CallTable:
        """Those that it has, and the slots for more."""
        return self._calls

    @property
    def pid(self) -> int | None:
        """Process id, once started."""
        return None if self._process is None else self._process.pid

    async def start(self) -> EngineInfo:
        """Spawn the process and wait until the engine is warm.

        Raises:
            EngineRefused: If the engine says that it cannot be loaded.
            EngineLost: If the process could not be made, died or did not get ready in time.
        """
        try:
            await self._spawn()
            async with asyncio.timeout(self._config.load_timeout):
                info = await self._loaded
        except TimeoutError as error:
            await self.stop()
            raise EngineLost(f"not loaded within {self._config.load_timeout:g} s") from error
        except OSError as error:  # no descriptor, no memory, no process left
            await self.stop()
            raise EngineLost(f"has no process: {error.strerror or error}") from error
        except BaseException:
            await self.stop()
            raise
        self._begin(info)
        return info

    def open(self, request: Request) -> EngineCall:
        """Begin a call; the caller has seen that a slot is free."""
        return self._calls.open(request)

    def keep_prompts(self, digests: Collection[str]) -> None:
        """Have the process forget the recordings of all voices but some."""
        for command in self._teacher.keep_only(digests):
            self._send(command)

    async def lost(self) -> str:
        """Wait until the process is gone and reaped; return the cause in a word."""
        cause = await asyncio.shield(self._lost)
        await self._reap()
        return cause

    async def stop(self) -> None:
        """End the process: in good order within a second, by force after that."""
        self._cause = self._cause or "stopped"
        if self._link is not None:
            self._send(Shutdown())
        if self._process is not None:
            try:
                async with asyncio.timeout(EXIT_GRACE):
                    await self._process.wait()
            except TimeoutError:
                self._kill()
        await self._reap()

    async def _spawn(self) -> None:
        slots = self._spec.slots or DEFAULT_SLOTS
        self._board = board = await asyncio.to_thread(Board.create, slots)
        ours, theirs = socket.socketpair()
        try:
            await self._exec(theirs, board, slots)
            _, self._link = await self._loop.create_unix_connection(lambda: _Link(self), sock=ours)
        except BaseException:
            ours.close()
            raise
        self._send(load_of(self._spec))

    async def _exec(self, theirs: socket.socket, board: Board, slots: int) -> None:
        fds = (theirs.fileno(), board.board_fd, board.report_fd)
        with theirs:
            if self._template is not None:
                self._process = await self._template.fork(fds, slots)
            if self._process is not None:
                return
            # Not in a thread: on Linux the process dies with the thread that made it.
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",
                "-m",
                "legato.worker.host",
                *(str(number) for number in (os.getpid(), *fds, slots)),
                pass_fds=fds,
                stdin=asyncio.subprocess.DEVNULL,
                start_new_session=True,
            )

    def _begin(self, info: EngineInfo) -> None:
        assert self._board is not None  # noqa: S101  made by _spawn
        slots = min(info.slots, self._spec.slots or DEFAULT_SLOTS)
        self._calls = CallTable(slots, self._send, self._loop.time, freed=self._freed)
        self._watch = Watch(
            self._calls,
            self._board,
            timeout=self._config.engine_timeout,
            clock=self._loop.time,
            cpu=self._cpu,
        )
        self._look()

    def _cpu(self) -> float | None:
        return None if self.pid is None else cpu_seconds(self.pid)

    def _look(self) -> None:
        hung = self._watch.hung()
        if hung:
            self._end_hung(hung)
        else:
            self._timer = self._loop.call_later(self._watch.interval, self._look)

    def _end_hung(self, hung: list[EngineCall]) -> None:
        assert self._board is not None  # noqa: S101  made by _spawn
        self._cause = "timeout"
        log.warning("engine hangs, its process is killed", engine=self._spec.name, pid=self.pid)
        for call in hung:
            # A call that has not begun waits for the one that hangs.
            if self._board.state(call.slot) is SlotState.INSIDE:
                call.give_up(timeout_error(self._spec.name, self._config.engine_timeout))
        self._kill()

    def receive(self, reply: Reply) -> None:
        """Take word from the process."""
        match reply:
            case Ready():
                if not self._loaded.done():
                    self._loaded.set_result(reply.info)
            case Unavailable():
                self._refuse(reply)
            case _:
                if isinstance(reply, Failed):
                    self._log_failure(reply)
                self._calls.receive(reply)

    def disconnected(self) -> None:
        """Take note that the process has closed its socket: it is dead, or will be at once."""
        self._stop_looking()
        self._kill()
        calls = self._calls.clear()
        crashed = {call.number for call in calls if self._crashed(call)}
        for call in calls:
            call.fail(self._verdict(call, crashed))
        if not self._loaded.done():
            self._loaded.set_exception(EngineLost("died while loading"))
            self._loaded.exception()  # nobody may be waiting for it any more
        if not self._lost.done():
            self._lost.set_result(self._cause or "crash")

    def _verdict(self, call: EngineCall, crashed: set[int]) -> Exception:
        """Return what a call fails with whose process died: was it the one that did it?

        A process that is killed, say for want of memory, leaves no report: nobody is accused, and
        those that were inside the engine are suspects.
        """
        if call.number in crashed:
            return EngineFailed(f"{self._spec.name} crashed. {EngineFailed.advice}")
        bystander = bool(crashed) or not self._is_inside(call)
        return EngineLost(f"the process of {self._spec.name} died", bystander=bystander)

    def _crashed(self, call: EngineCall) -> bool:
        board = self._board
        return (
            board is not None
            and not self._cause
            and self._is_inside(call)
            and board.crashed(call.slot) is True
        )

    def _is_inside(self, call: EngineCall) -> bool:
        return self._board is not None and self._board.state(call.slot) is SlotState.INSIDE

    def _refuse(self, reply: Unavailable) -> None:
        if reply.trace:
            log.error("engine cannot be loaded", engine=self._spec.name, trace=reply.trace)
        if not self._loaded.done():
            self._cause = "unavailable"
            self._loaded.set_exception(EngineRefused(reply.message, reply.info))

    def _log_failure(self, reply: Failed) -> None:
        if reply.code in (EngineFailed.code, Internal.code):
            log.warning("engine failed", engine=self._spec.name, code=reply.code, trace=reply.trace)

    def _send(self, command: Command) -> None:
        if self._link is not None:
            for one in self._teacher.commands(command):
                self._link.send(encode(one))

    def _kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            try:
                self._process.kill()
            except ProcessLookupError:
                return

    def _stop_looking(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    async def _reap(self) -> None:
        self._stop_looking()
        if self._process is not None:
            await self._process.wait()
            self._log_end()
        if self._link is not None:
            self._link.close()
        if self._board is not None:
            board, self._board = self._board, None
            board.close()

    def _log_end(self) -> None:
        process, board = self._process, self._board
        if process is None or board is None or self._cause:
            return
        log.error(
            "engine process died",
            engine=self._spec.name,
            pid=process.pid,
            exit_code=process.returncode,
            trace=board.report,
        )


class _Link(asyncio.Protocol):
    """The socket to the process."""

    def __init__(self, process: EngineProcess) -> None:
        self._process = process
        self._splitter = Splitter()
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.WriteTransport", transport)

    def data_received(self, data: bytes) -> None:
        for body in self._splitter.feed(data):
            self._process.receive(decode_reply(body))

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._process.disconnected()

    def send(self, frame: bytes) -> None:
        """Send, or drop what a dead process cannot read any more."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(frame)

    def close(self) -> None:
        """Let go of the socket."""
        if self._transport is not None:
            self._transport.close()
