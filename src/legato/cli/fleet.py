"""Several gateway processes on one port: started, replaced when they die, stopped together.

On Linux each has a listening socket of its own, all bound to the port with SO_REUSEPORT, so that
the kernel spreads connections evenly; elsewhere, where it would not, they share one. The parent
keeps the sockets open: connections that wait for a process that died are served by the next.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Sequence
from typing import Final

import typer
from prometheus_client.multiprocess import mark_process_dead

from legato.gateway.config import GatewayConfig
from legato.gateway.server import bind
from legato.telemetry.logs import logger
from legato.telemetry.metrics import MULTIPROCESS

READY: Final = b"ready\n"
"""What a gateway process says on its standard output once it listens."""

START_TIMEOUT: Final = 30.0
STOP_GRACE: Final = 10.0
"""Seconds beyond the drain time after which a process that was asked to end is killed."""

RESTART_DELAY: Final = 0.5
MAX_RESTART_DELAY: Final = 30.0
STEADY: Final = 60.0
"""Seconds that a process must live for its death to count as the first in a row."""

PR_SET_PDEATHSIG: Final = 1
"""Of Linux's prctl(2): the signal to get when the parent dies."""

log = logger("legato.cli.fleet")


class Fleet:
    """Gateway processes that stand in for one `Server`.

    Args:
        config: Where they listen.
        processes: How many.
        command: Arguments of `legato` that start one; the socket to listen on is added.
    """

    def __init__(self, config: GatewayConfig, *, processes: int, command: Sequence[str]) -> None:
        self._config = config
        self._processes = processes
        self._command = command
        self._sockets: list[socket.socket] = []
        self._metrics = ""
        self._running: dict[int, asyncio.subprocess.Process] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._stopping = False

    @property
    def url(self) -> str:
        """Where clients connect to."""
        scheme = "wss" if self._config.tls_cert else "ws"
        host = self._config.host
        port = self._sockets[0].getsockname()[1]
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"

    async def start(self) -> None:
        """Listen, and wait until every process does.

        Raises:
            PortInUse: If another program listens there.
            CannotListen: If the address cannot be bound for another reason.
            typer.Exit: If a process cannot start; it has said why.
        """
        self._sockets = listeners(self._config.host, self._config.port, self._processes)
        self._metrics = await asyncio.to_thread(tempfile.mkdtemp, prefix="legato-metrics-")
        starts = (self._launch(index) for index in range(self._processes))
        for process in await asyncio.gather(*starts):
            if process.returncode is not None:
                raise typer.Exit(process.returncode if process.returncode > 0 else 1)
        for index in range(self._processes):
            self._tasks.append(asyncio.create_task(self._keep(index)))

    async def stop(self, *, drain: bool = True) -> None:
        """Have all processes end: when their streams have, or at once.

        A call that is cancelled may be followed by another one.
        """
        self._stopping = True
        for task in self._tasks:
            task.cancel()
        self._signal(signal.SIGTERM)
        if not drain:
            self._signal(signal.SIGINT)  # the second: do not wait for streams
        running = [asyncio.ensure_future(one.wait()) for one in self._running.values()]
        if running:
            patience = STOP_GRACE + (self._config.drain_timeout if drain else 0.0)
            _, left = await asyncio.wait(running, timeout=patience)
            if left:
                self._signal(signal.SIGKILL)
                await asyncio.wait(left)
        for listening in self._sockets:
            listening.close()
        await asyncio.to_thread(shutil.rmtree, self._metrics, ignore_errors=True)

    def _signal(self, number: signal.Signals) -> None:
        for process in self._running.values():
            if process.returncode is None:
                process.send_signal(number)

    async def _keep(self, index: int) -> None:
        """Replace the process of one socket whenever it ends."""
        loop = asyncio.get_running_loop()
        failures, began = 0, loop.time()
        while True:
            process = self._running[index]
            code = await process.wait()
            failures = failures + 1 if loop.time() - began < STEADY else 1
            log.error("gateway process died", pid=process.pid, exit_code=code)
            await asyncio.to_thread(mark_process_dead, process.pid, self._metrics)
            await asyncio.sleep(delay(failures))
            began = loop.time()
            try:
                process = await self._launch(index)
            except OSError as error:  # no memory, no descriptor, no process left
                log.warning("gateway process cannot be started", why=error.strerror)
                continue
            if process.returncode is None:
                log.warning("gateway process replaced", pid=process.pid)

    async def _launch(self, index: int) -> asyncio.subprocess.Process:
        """Start a process and wait until it listens, or has ended."""
        fd = self._sockets[index % len(self._sockets)].fileno()
        variables = {**os.environ, MULTIPROCESS: self._metrics}  # noqa: TID251  (passed on)
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "legato",
            *(*self._command, "--listen-fd", str(fd)),
            pass_fds=(fd,),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,  # Ctrl-C goes to the parent alone, which tells them
            env=variables,
        )
        self._running[index] = process
        assert process.stdout is not None  # noqa: S101  (a pipe was asked for)
        said = b""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(START_TIMEOUT):
                said = await process.stdout.readline()
        if said != READY:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
            await process.wait()
        elif self._stopping:
            process.terminate()
        return process


def delay(failures: int) -> float:
    """Return the seconds before the restart after so many deaths in a row; the first is at once."""
    if failures <= 1:
        return 0.0
    return min(RESTART_DELAY * 2.0 ** min(failures - 2, 30), MAX_RESTART_DELAY)


def listeners(host: str, port: int, processes: int) -> list[socket.socket]:
    """Open the sockets for so many processes: one each on Linux, one for all elsewhere.

    Raises:
        PortInUse: If another program listens there.
        CannotListen: If the address cannot be bound for another reason.
    """
    alone = bind(host, port)
    if sys.platform != "linux":
        return [alone]
    # With SO_REUSEPORT alone, a second server of the same user would share the port unnoticed.
    port = alone.getsockname()[1]
    alone.close()
    return [bind(host, port, several=True) for _ in range(processes)]


def adopted(fd: int) -> socket.socket:
    """Take over the socket that the parent of a gateway process listens on, and end with it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    os.set_inheritable(fd, False)
    listening = socket.socket(fileno=fd)
    listening.setblocking(False)
    return listening


def tell_ready() -> None:
    """Tell the parent that this process listens."""
    sys.stdout.buffer.write(READY)
    sys.stdout.flush()
