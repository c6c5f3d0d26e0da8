"""Which server a command talks to: the one named, one that runs here, or one of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from legato.cli.exits import ERR, BadUsage
from legato.cli.extras import missing
from legato.cli.probe import answers
from legato.client.client import Client
from legato.client.config import DEFAULT_URL
from legato.engines.installation import add_command
from legato.errors import ConnectionLost
from legato.protocol.version import DEFAULT_PORT
from legato.telemetry.redaction import redacted

if TYPE_CHECKING:
    from legato.settings import Settings

LOADING_LOOKS: Final = 240
"""Looks at the engines of a server that was just started, before it is asked all the same."""

EMPTY_LOOKS: Final = 20
"""Looks at a server that knows of no engine: perhaps its worker is only just starting."""

LOADING_PAUSE: Final = 0.25
"""Seconds between two looks."""


class Target:
    """What the user said about the server, by options and settings.

    Args:
        url: Its address, or None.
        ca_file: PEM file with its authority, or None.
        insecure: Accept any certificate.
        quiet: Say nothing about an embedded one.

    Raises:
        BadSettings: If the settings cannot be read.
        BadUsage: If the address has no scheme, or the file is not there.
    """

    def __init__(
        self, url: str | None, *, ca_file: Path | None, insecure: bool, quiet: bool
    ) -> None:
        from legato.settings import load  # slow to import

        check_address(url, ca_file)
        flags = {"url": url, "ca_file": ca_file, "insecure": insecure or None}
        self._settings = load(flags={"client": flags}).settings
        self._is_named = url is not None or self._settings.client.url != DEFAULT_URL
        self._quiet = quiet

    @asynccontextmanager
    async def client(self, task: str | None = None) -> AsyncIterator[Client]:
        """Give a client of the server, for the length of the block.

        Args:
            task: `synthesize` or `recognize`, to wait until its engines are loaded; an embedded
                server loads no others. None is for both.

        Raises:
            ConnectionLost: If there is no server, and none can be started.
        """
        async with AsyncExitStack() as stack:
            config = self._settings.client
            embedded = not self._is_named and not await answers("127.0.0.1", DEFAULT_PORT)
            if embedded:
                self._tell_embedded()
                url = await stack.enter_async_context(_embedded(self._settings, task))
                config = replace(config, url=url)
            client = await stack.enter_async_context(Client(config))
            if task is not None and not embedded:
                await _until_loaded(client, task, self._tell_loading)
            yield client

    def _tell_embedded(self) -> None:
        absent = missing("server")
        if absent:
            raise ConnectionLost(
                f"no server answers on port {DEFAULT_PORT} of this machine; name one with --url,"
                f" or install one: {add_command('server', 'voices')}"
            )
        if not self._quiet and ERR.is_terminal:
            ERR.print("legato: no server runs here; starting one for this command", style="dim")

    def _tell_loading(self) -> None:
        if not self._quiet and ERR.is_terminal:
            ERR.print("legato: the server's engines are loading", style="dim")


def check_address(url: str | None, ca_file: Path | None) -> None:
    """See that the options for a server can be meant.

    Raises:
        BadUsage: If the address has no scheme, or the file is not there.
    """
    if url is not None and any(character.isspace() for character in url):
        raise BadUsage("there is white space in --url; ws://HOST:PORT has none, write %20 for it")
    if url is not None and "://" not in url:
        shown = redacted(f"ws://{url}").removeprefix("ws://")
        raise BadUsage(f"--url {shown!r} has no scheme; ws://{shown} or wss://{shown} is meant")
    if ca_file is not None and not ca_file.is_file():
        raise BadUsage(f"--ca-file {ca_file}: there is no such file")


@asynccontextmanager
async def _embedded(settings: Settings, task: str | None) -> AsyncIterator[str]:
    from legato.cli.node import running  # needs the server extra
    from legato.telemetry.logs import configure

    configure("console", "error")
    gateway = replace(settings.gateway, host="127.0.0.1", port=0, tls_cert=None, tls_key=None)
    engines = tuple(spec for spec in settings.worker.engines if task in {None, spec.kind.value})
    async with running(gateway, replace(settings.worker, engines=engines)) as node:
        assert node.url is not None  # noqa: S101 - a node of its own listens
        yield node.url


async def _until_loaded(client: Client, task: str, tell: Callable[[], None]) -> None:
    """Wait while the engines for `task` are loading; if that takes too long, the server says so.

    `tell` is called when it turns out that there is something to wait for.
    """
    for look in range(LOADING_LOOKS):
        try:
            engines = [engine for engine in await client.engines() if engine.kind == task]
        except ConnectionLost:
            return  # what is wrong shows when the stream is opened
        chosen = [engine for engine in engines if engine.default] or engines
        if not chosen and look >= EMPTY_LOOKS:
            return
        if any(engine.state != "loading" for engine in chosen):
            return
        if look == 0:
            tell()
        await asyncio.sleep(LOADING_PAUSE)
