"""A node from its start to its end: what it says, and the signals that stop it."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Coroutine, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from legato.cli.exits import ERR
from legato.cli.node import Node
from legato.cli.probe import answers
from legato.client.config import DEFAULT_URL
from legato.engines.installation import is_checkout
from legato.gateway.server import PortInUse
from legato.protocol.version import DEFAULT_PORT

if TYPE_CHECKING:
    from legato.settings import Settings

LOOPBACK: Final[Mapping[str, str]] = MappingProxyType(
    {"0.0.0.0": "127.0.0.1", "::": "::1", "[::]": "[::1]"}  # noqa: S104  (what others bind)
)
"""Address that stands for all of this machine → one that a client here can connect to."""


async def serve_until_stopped(
    settings: Settings, *, gateway: bool = True, worker: bool = True
) -> None:
    """Run until SIGINT or SIGTERM: the first lets open streams end, the second does not wait.

    Args:
        settings: Of all parts.
        gateway: Whether to listen for clients.
        worker: Whether to run engines.

    Raises:
        LegatoError: If it cannot start, or a part fails.
    """
    began = time.monotonic()
    asked, once_more = asyncio.Event(), asyncio.Event()

    def ask() -> None:
        (once_more if asked.is_set() else asked).set()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ask)
    node = await Node.open(
        settings.bus.url,
        gateway=settings.gateway if gateway else None,
        worker=settings.worker if worker else None,
    )
    try:
        await _start(node, settings)
        where = "" if node.url is None else f"listening on {node.url}"
        what = "loading engines" if worker else ""
        ERR.print("legato: " + ", ".join(filter(None, (where, what))), markup=False)
        await _unless(asked, node.ready())
        if not asked.is_set():
            _tell_ready(time.monotonic() - began, node.url if worker else None)
            await _unless(asked, node.finished())
        ERR.print("legato: stopping; once more to stop at once")
    finally:
        await _stop(node, once_more, 0.0 if gateway else settings.gateway.drain_timeout)


async def _start(node: Node, settings: Settings) -> None:
    try:
        await node.start()
    except PortInUse as error:
        host, port = settings.gateway.host, settings.gateway.port
        other = f"--port {DEFAULT_PORT + (port == DEFAULT_PORT)}"
        message = f"{error.message}, such as {other}"
        if is_checkout():
            message += f' (make run ARGS="{other}")'
        if await answers(LOOPBACK.get(host, host), port):
            message += "; a Legato server answers there, which can be used as it is"
        raise PortInUse(message) from error


def _tell_ready(took: float, url: str | None) -> None:
    hint = "" if url is None else f"; try: {example(url)}"
    ERR.print(f"legato: ready after {took:.1f} s{hint}", markup=False)


def example(url: str) -> str:
    """Return a command that tries the server at an address, which is named if it must be."""
    for wildcard, host in LOOPBACK.items():
        url = url.replace(f"//{wildcard}:", f"//{host}:")
    address = "" if url == DEFAULT_URL else f" --url {url}"
    return f'legato say "Hello." -o hello.wav{address}'


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
