"""Other stacks under the load of `redis.400`: the articles' own, and echoes without a bus.

The programs are in `benchmarks/peers/` of the checkout. What they need is installed into an
environment of its own, and a stack that is not there is skipped by name.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from legato.bench.benchmark import Benchmark, Setup
from legato.bench.machine import raise_open_files
from legato.bench.process import ServerFailed, server
from legato.bench.row import Row
from legato.bench.stack import Stack, redis_server
from legato.bench.volley import WARM_UP, Figures, Volley, fire

CHECKOUT: Final = Path("benchmarks/peers")
"""Seen from the checkout, as the peers' environment is."""

IN_PACKAGE: Final = Path(__file__).with_name("peers")
LEVELS: Final = (50, 125, 200, 400)
SECONDS: Final = 5.0
QUICK_SECONDS: Final = 3.0
LATE: Final = 0.050
SPARE_FILES: Final = 500
CHUNK_10_MS: Final = "20"
"""Pipecat's output chunk, so that an answer is one frame of 200 ms."""

NO_ARTICLES: Final = (
    "the articles' stack (Flask-SocketIO, gevent, gunicorn) is not installed: `make bench` does it"
)
NO_PIPECAT: Final = "pipecat is not installed: `make bench` does it"
NO_CHECKOUT: Final = "benchmarks/peers is not here: run it from a checkout"

Start = Callable[[Path | None], AbstractAsyncContextManager[Stack]]


@asynccontextmanager
async def articles(python: Path | None) -> AsyncIterator[Stack]:
    """Run Redis, the articles' web tier of two processes, and their worker.

    Args:
        python: Of an environment that has what they need.

    Raises:
        ServerFailed: If something is missing or does not start.
    """
    folder = await _folder() / "articles"
    program = await with_modules(python, "flask_socketio, gevent, geventwebsocket, gunicorn, redis")
    if program is None:
        raise ServerFailed(NO_ARTICLES)
    async with redis_server() as (redis, url):
        command = [program, "worker.py", url]
        async with server(command, ready=b"ready", listens=False, cwd=folder) as worker:
            options = ["-c", "gunicorn_conf.py", "--env", f"REDIS_URL={url}", "web:application"]
            command = [program, "-m", "gunicorn", *options]
            async with server(command, ready=b"ready on", cwd=folder) as web:
                pids = {"web": web.pid, "worker": worker.pid, "redis-server": redis.pid}
                yield Stack(web, MappingProxyType(pids), url)


@asynccontextmanager
async def websockets_echo(_python: Path | None) -> AsyncIterator[Stack]:
    """Run an echo with `websockets`, which is at hand anyway.

    Raises:
        ServerFailed: If it does not start.
    """
    command = [sys.executable, str(await _folder() / "websockets_echo.py")]
    async with server(command, ready=b"ready on") as running:
        yield Stack(running, MappingProxyType({"server": running.pid}))


@asynccontextmanager
async def pipecat(python: Path | None) -> AsyncIterator[Stack]:
    """Run pipecat's echo with chunks of 200 ms.

    Args:
        python: Of an environment that has it.

    Raises:
        ServerFailed: If it is missing or does not start.
    """
    program = await with_modules(python, "pipecat")
    if program is None:
        raise ServerFailed(NO_PIPECAT)
    command = [program, str(IN_PACKAGE / "pipecat_echo.py"), CHUNK_10_MS]
    async with server(command, ready=b"ready on") as running:
        yield Stack(running, MappingProxyType({"server": running.pid}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rival:
    """A stack, and how many users it is given.

    Attributes:
        name: Of its rows.
        levels: Numbers of users, each against fresh processes.
        dialect: How it is spoken to.
        start: Starts it.
        what: What it is, for the notes.
    """

    name: str
    levels: tuple[int, ...]
    dialect: str
    start: Start
    what: str

    @property
    def figures(self) -> dict[int, Figures]:
        """The rows of each level, none of which has a bound."""
        return {users: Figures.of(f"{self.name}.{users}", p99=None) for users in self.levels}

    async def measure(self, setup: Setup) -> Sequence[Row]:
        """Load it at each level."""
        rows: list[Row] = []
        raise_open_files(max(self.levels) + SPARE_FILES)
        for users, figures in self.figures.items():
            setup.tell(f"{users} users")
            try:
                volley = await self._level(setup, 5 if setup.quick else users)
            except ServerFailed as error:
                rows.extend(figures.missing(str(error)))
            else:
                what = f"{users} users, {self.what}"
                rows.extend(figures.rows([volley], late=LATE, what=what))
        return rows

    async def _level(self, setup: Setup, users: int) -> Volley:
        seconds = QUICK_SECONDS if setup.quick else WARM_UP + SECONDS
        async with self.start(setup.pipecat) as stack:
            return await fire(stack.running.address, self.dialect, users, seconds, stack.cpu)


async def _folder() -> Path:
    if not await asyncio.to_thread(CHECKOUT.is_dir):
        raise ServerFailed(NO_CHECKOUT)
    return await asyncio.to_thread(CHECKOUT.resolve)


async def with_modules(python: Path | None, modules: str) -> str | None:
    """Return the absolute path of a Python if it has modules."""
    if python is None:
        return None
    # Not resolved: the link's own place is what makes it an environment's Python.
    program = str(await asyncio.to_thread(python.absolute))
    try:
        process = await asyncio.create_subprocess_exec(
            program, "-c", f"import {modules}", stderr=asyncio.subprocess.DEVNULL
        )
    except OSError:
        return None
    return None if await process.wait() else program


def _benchmark(rival: Rival, about: str) -> Benchmark:
    run: Callable[[Setup], Awaitable[Sequence[Row]]] = rival.measure
    figures = tuple(figure for level in rival.figures.values() for figure in level.all)
    return Benchmark(name=rival.name, about=about, figures=figures, run=run, timeout=180.0)


BENCHMARKS = (
    _benchmark(
        Rival(
            name="articles",
            levels=LEVELS,
            dialect="socket.io",
            start=articles,
            what=(
                "6,400 B every 200 ms, answered by a short event; the articles' stack (gunicorn -w"
                " 2, one worker), Redis without persistence, no window"
            ),
        ),
        "The stack of the articles under the same load, up to where it breaks down.",
    ),
    _benchmark(
        Rival(
            name="websockets",
            levels=(400,),
            dialect="plain",
            start=websockets_echo,
            what="6,400 B every 200 ms and back; one process with `websockets`, no bus, no session",
        ),
        "An echo with websockets, one process and nothing behind it, under the same load.",
    ),
    _benchmark(
        Rival(
            name="pipecat",
            levels=(50,),
            dialect="pipecat",
            start=pipecat,
            what="6,400 B every 200 ms and back; one process, pipecat's own pipeline, no bus",
        ),
        "Pipecat's echo under the same load.",
    ),
)
