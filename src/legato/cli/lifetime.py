"""A node from its start to its end: what it says, and the signals that stop it."""

from __future__ import annotations

import asyncio
import gc
import resource
import signal
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from legato.cli.exits import ERR
from legato.cli.fleet import Fleet, adopted, tell_ready
from legato.cli.node import Node
from legato.cli.probe import readiness
from legato.cli.readiness import can_speak, is_loading, is_usable, lacks
from legato.cli.renewing import renewing
from legato.client.config import DEFAULT_URL
from legato.engines.installation import is_checkout
from legato.gateway.server import PortInUse
from legato.protocol.version import DEFAULT_PORT

if TYPE_CHECKING:
    from legato.bus.records import EngineRecord
    from legato.settings import MetricsConfig, Settings
    from legato.worker.config import WorkerConfig

LOOPBACK: Final[Mapping[str, str]] = MappingProxyType(
    {"0.0.0.0": "127.0.0.1", "::": "::1", "[::]": "[::1]"}  # noqa: S104  (what others bind)
)
"""Address that stands for all of this machine → one that a client here can connect to."""


COLLECT_AFTER: Final = (2_000, 50, 50)
"""New objects, and collections of the next younger generation, until one is collected."""

OPEN_MAX: Final = 10_240
"""Open files that macOS lets a process have where it says that it may have any number."""


async def serve_until_stopped(
    settings: Settings,
    *,
    gateway: bool = True,
    worker: bool = True,
    fleet: Fleet | None = None,
    listen_fd: int | None = None,
    reread: Callable[[], WorkerConfig] | None = None,
) -> None:
    """Run until SIGINT or SIGTERM: the first lets open streams end, the second does not wait.

    SIGUSR1 has a worker load its engines anew, as `reread` says they are set up now.

    Args:
        settings: Of all parts.
        gateway: Whether to listen for clients.
        worker: Whether to run engines.
        fleet: Gateway processes that listen in the place of this one.
        listen_fd: Socket of a gateway that is one of a fleet, and leaves the talking to its parent.
        reread: Reads the worker's settings once more.

    Raises:
        LegatoError: If it cannot start, or a part fails.
    """
    began = time.monotonic()
    allow_open_files()
    asked, once_more = _on_signals()
    node = await Node.open(
        settings.bus.url,
        gateway=settings.gateway if gateway else None,
        worker=settings.worker if worker else None,
        fleet=fleet,
        listening=None if listen_fd is None else adopted(listen_fd),
    )
    try:
        async with (
            _watched(settings.metrics if worker else None, node, asked) as metrics,
            renewing(node, reread if worker else None),
        ):
            await _start(node, settings)
            if listen_fd is not None:
                _settle_heap()
                tell_ready()
                await asked.wait()
            else:
                page = page_of(node.url) if settings.gateway.console else None
                await _attend(node, asked, metrics, began=began, has_worker=worker, page=page)
    finally:
        await _stop(node, once_more, 0.0 if gateway else settings.gateway.drain_timeout)


def _on_signals() -> tuple[asyncio.Event, asyncio.Event]:
    """Return what the first and what the second signal to stop sets."""
    asked, once_more = asyncio.Event(), asyncio.Event()

    def ask() -> None:
        (once_more if asked.is_set() else asked).set()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ask)
    return asked, once_more


async def _attend(
    node: Node,
    asked: asyncio.Event,
    metrics: str | None,
    *,
    began: float,
    has_worker: bool,
    page: str | None,
) -> None:
    """Say how a node gets on until it is asked to stop."""
    _tell_begun(node, metrics, loading=has_worker)
    await _unless(asked, node.ready())
    if not asked.is_set():
        _settle_heap()
        _tell_ready(time.monotonic() - began, node, has_worker=has_worker)
        if page is not None:
            ERR.print(f"legato: open {page}", markup=False)
        await _unless(asked, node.finished())
    ERR.print("legato: stopping; once more to stop at once")


@asynccontextmanager
async def _watched(
    config: MetricsConfig | None, node: Node, stopping: asyncio.Event
) -> AsyncIterator[str | None]:
    """Let the worker be watched until it has been told to stop; gives the address, if any."""

    def fault() -> str | None:
        if stopping.is_set():
            return "draining"
        if is_loading(node.engines):
            return "engines are loading"
        return None if is_usable(node.engines) else "no engine can be used"

    if config is None or config.port is None:
        yield None
        return
    from legato.cli.watching import watched

    async with watched(config, fault) as address:
        yield address


async def _start(node: Node, settings: Settings) -> None:
    try:
        await node.start()
    except PortInUse as error:
        host, port = settings.gateway.host, settings.gateway.port
        other = f"--port {DEFAULT_PORT + (port == DEFAULT_PORT)}"
        message = f"{error.message}, such as {other}"
        if is_checkout():
            message += f' (make run ARGS="{other}")'
        found = await readiness(LOOPBACK.get(host, host), port)
        raise PortInUse(message + holder(found)) from error


def holder(readiness: str | None) -> str:
    """Return what to add on who has the port, by what its /readyz says; None says nothing."""
    if readiness is None:
        return ""
    if readiness == "ready":
        return "; a Legato server answers there, which can be used as it is"
    if readiness == "draining":
        return "; a Legato server that was told to stop has it until its streams have ended"
    return f"; a Legato server answers there, but cannot be used: {readiness}"


def _settle_heap() -> None:
    """Let the collector pass over what is there for good, and look less often than by default.

    With 1,000 streams it took 8 % of the time as Python sets it (measured, CPython 3.11).
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)


def _tell_begun(node: Node, metrics: str | None, *, loading: bool) -> None:
    parts = (
        "" if node.url is None else f"listening on {node.url}",
        "" if metrics is None else f"metrics on {metrics}/metrics",
        "loading engines" if loading else "",
    )
    ERR.print("legato: " + ", ".join(filter(None, parts)), markup=False)


def _tell_ready(took: float, node: Node, *, has_worker: bool) -> None:
    for line in ready_lines(took, node.url, node.engines if has_worker else None):
        ERR.print(f"legato: {line}", markup=False)


def ready_lines(took: float, url: str | None, engines: Sequence[EngineRecord] | None) -> list[str]:
    """Return what is said when no engine is loading any more.

    Args:
        took: Seconds since the start.
        url: Where clients connect to; None without a gateway.
        engines: Those of the worker; None without one.
    """
    if engines is None:
        return [f"ready after {took:.1f} s"]
    lacking = lacks(engines)
    if not is_usable(engines):
        return ["no engine can be used; put this right and start again:", *lacking]
    hint = f"; try: {example(url)}" if url is not None and can_speak(engines) else ""
    return [f"ready after {took:.1f} s{hint}", *(f"without {lack}" for lack in lacking)]


def allow_open_files() -> None:
    """Raise the number of files that this process may open to what the system lets it have.

    Each connection is one, and the usual limit of 1,024 is below `gateway.max_connections`.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = OPEN_MAX if hard == resource.RLIM_INFINITY else hard
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def example(url: str) -> str:
    """Return a command that tries the server at an address, which is named if it must be."""
    url = _reachable(url)
    address = "" if url == DEFAULT_URL else f" --url {url}"
    return f'legato say "Hello." -o hello.wav{address}'


def page_of(url: str | None) -> str | None:
    """Return where a browser finds the console of a server; None without a server."""
    return None if url is None else f"http{_reachable(url).removeprefix('ws')}/"


def _reachable(url: str) -> str:
    for wildcard, host in LOOPBACK.items():
        url = url.replace(f"//{wildcard}:", f"//{host}:")
    return url


async def _unless(event: asyncio.Event, work: Coroutine[Any, Any, None]) -> None:
    """Do `work`, unless or until `event` is set."""
    task, wait = asyncio.ensure_future(work), asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait({task, wait}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        wait.cancel()
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
    if not task.cancelled():
        task.result()


async def _stop(node: Node, at_once: asyncio.Event, drain: float) -> None:
    stopping = asyncio.ensure_future(node.stop(drain=drain or None))
    hurry = asyncio.ensure_future(at_once.wait())
    await asyncio.wait({stopping, hurry}, return_when=asyncio.FIRST_COMPLETED)
    hurry.cancel()
    if not stopping.done():
        stopping.cancel()
        await asyncio.wait({stopping})
        await node.stop(drain=0.0)
    else:
        stopping.result()
