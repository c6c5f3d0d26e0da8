"""A running gateway: its listening socket, its uvicorn, and how it goes away in good order."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import socket
import ssl
from collections.abc import Generator
from typing import Final

import uvicorn

import legato
from legato.bus.base import Bus
from legato.bus.janitor import Janitor
from legato.bus.presence import Presence, process_name
from legato.bus.records import ProcessRecord
from legato.errors import LegatoError
from legato.gateway.access import Access
from legato.gateway.administration import Administration
from legato.gateway.admission import Admission
from legato.gateway.app import Gateway
from legato.gateway.attendance import Attendance
from legato.gateway.catalog import Catalog
from legato.gateway.config import GatewayConfig
from legato.gateway.http import BoundedHttp
from legato.gateway.identity import Identify, anyone
from legato.gateway.lag import watch_lag
from legato.gateway.socket import SpeechSocket
from legato.gateway.streams import Streams
from legato.gateway.voices import VoiceRoutes

BACKLOG: Final = 2048

SPARE_CONNECTIONS: Final = 256
"""Connections beyond those for streams, so that health can be asked for on a full server."""

GRACE: Final = 2
"""Seconds for connections to close after they were told to."""


class CannotListen(LegatoError):
    """The address cannot be listened on (never on the wire)."""

    code = "cannot_listen"
    advice = "Give another --host or --port."


class PortInUse(CannotListen):
    """Somebody listens on the port, maybe a Legato that goes away (never on the wire)."""

    code = "port_in_use"
    advice = "Wait for whoever has the port to end, end it, or choose another with --port."


class BadCertificate(LegatoError):
    """The certificate or its key cannot be used (never on the wire)."""

    code = "bad_certificate"
    advice = "Give --tls-cert and --tls-key as PEM files that belong together."


class _Uvicorn(uvicorn.Server):
    """uvicorn without its signal handlers, which would close every socket at once."""

    def __init__(self, config: uvicorn.Config, *, handshake_timeout: float) -> None:
        super().__init__(config)
        self._handshake_timeout = handshake_timeout

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen; uvicorn itself gives a TLS handshake a minute."""
        config = self.config
        loop = asyncio.get_running_loop()
        await self.lifespan.startup()
        self.servers = [
            await loop.create_server(
                lambda: config.http_protocol_class(  # type: ignore[call-arg]  # as uvicorn calls it
                    config=config, server_state=self.server_state, app_state=self.lifespan.state
                ),
                sock=listening,
                ssl=config.ssl,
                ssl_handshake_timeout=self._handshake_timeout if config.ssl else None,
                backlog=config.backlog,
            )
            for listening in sockets or ()
        ]
        self.started = True


class Server:
    """One gateway in the running event loop.

    Args:
        bus: Shared with the workers.
        config: Settings.
        identify: Finds out who speaks.
        listening: The socket to listen on, if it is open already.
    """

    def __init__(
        self,
        bus: Bus,
        config: GatewayConfig,
        *,
        identify: Identify = anyone,
        listening: socket.socket | None = None,
    ) -> None:
        self._config = config
        clock = asyncio.get_running_loop().time
        catalog = Catalog(bus.registry, clock, config.voice_aliases)
        self._name = process_name()
        self._streams = Streams(
            bus,
            resume_window=config.resume_window,
            catalog=catalog,
            admission=Admission(bus.registry, catalog, clock, max_wait=config.max_wait),
        )
        access = Access(config, identify)
        self._gateway = Gateway(
            config,
            streams=self._streams,
            catalog=catalog,
            identify=identify,
            clock=clock,
            routes=(
                *Administration(bus, access=access, clock=clock).routes(),
                *VoiceRoutes(bus, catalog, config, access=access).routes(),
            ),
        )
        self._presence = Presence(bus.registry, self._describe)
        self._attendance = Attendance(
            bus.registry, self._streams.relays, clock, patience=config.worker_wait
        )
        self._janitor = Janitor(bus, self._name, every=config.janitor_every)
        self._chores: list[asyncio.Task[None]] = []
        self._serving: asyncio.Task[None] | None = None
        self._uvicorn: _Uvicorn | None = None
        self._socket = listening

    @property
    def port(self) -> int:
        """The port that is listened on."""
        assert self._socket is not None  # noqa: S101  (started)
        return int(self._socket.getsockname()[1])

    @property
    def url(self) -> str:
        """Where clients connect to."""
        scheme = "wss" if self._config.tls_cert else "ws"
        host = self._config.host
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{self.port}"

    @property
    def open_connections(self) -> int:
        """WebSocket connections that are open."""
        return len(self._gateway.connections)

    @property
    def open_streams(self) -> int:
        """Streams, those included that wait for their client."""
        return len(self._streams)

    async def start(self) -> None:
        """Listen.

        Raises:
            PortInUse: If another program listens there.
            CannotListen: If the address cannot be bound for another reason.
            BadCertificate: If the certificate or its key cannot be used.
        """
        config = uvicorn_config(self._config, self._gateway)
        self._socket = self._socket or bind(self._config.host, self._config.port)
        server = _Uvicorn(config, handshake_timeout=self._config.header_timeout)
        self._uvicorn = server
        self._serving = asyncio.create_task(server.serve(sockets=[self._socket]))
        chores = (
            self._streams.keep_alive(),
            self._presence.run(),
            self._janitor.run(),
            self._attendance.run(),
            watch_lag(),
        )
        self._chores = [asyncio.create_task(chore) for chore in chores]
        while not server.started:
            if self._serving.done():
                await self._serving
                raise RuntimeError("uvicorn ended before it had started")
            await asyncio.sleep(0.005)

    async def stop(self, *, drain: bool = True) -> None:
        """Go away: refuse the new, let the open end within `drain_timeout`, close the rest.

        A call that is cancelled may be followed by another one.
        """
        self._gateway.draining = self._streams.draining = True
        if drain:
            await self._drain(self._config.drain_timeout)
        for connection in list(self._gateway.connections):
            connection.leave()
        await self._streams.close()
        if self._uvicorn is not None and self._serving is not None:
            self._uvicorn.should_exit = True
            await asyncio.wait({self._serving})
        for chore in self._chores:
            chore.cancel()
        if self._chores:
            await asyncio.wait(self._chores)

    def _describe(self, started: float, loop_lag: float) -> ProcessRecord:
        return ProcessRecord(
            role="gateway",
            name=self._name,
            host=socket.gethostname(),
            pid=os.getpid(),
            version=legato.__version__,
            state="draining" if self._gateway.draining else "ready",
            started=started,
            loop_lag=loop_lag,
            streams=self.open_streams,
            connections=self.open_connections,
        )

    async def _drain(self, deadline: float) -> None:
        for connection in list(self._gateway.connections):
            connection.drain(deadline)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(deadline):
                await self._streams.until_idle()


def uvicorn_config(config: GatewayConfig, gateway: Gateway) -> uvicorn.Config:
    """Return uvicorn's settings, loaded.

    Raises:
        BadCertificate: If the certificate or its key cannot be used.
    """
    if config.tls_key and not config.tls_cert:
        raise BadCertificate("there is a key, but no certificate: give --tls-cert too")
    made = uvicorn.Config(
        gateway,
        interface="asgi3",
        http=_http_protocol(config),
        ws=SpeechSocket,
        ws_max_size=config.max_message_bytes,
        ws_per_message_deflate=False,
        ws_ping_interval=None,  # liveness comes from legato.v1; unread pongs would kill (study)
        lifespan="off",
        log_config=None,
        log_level="error",  # below that it tells clients' faults, with paths and queries
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_graceful_shutdown=GRACE,
        ssl_certfile=config.tls_cert,
        ssl_keyfile=config.tls_key,
        ssl_ciphers="ECDHE+AESGCM:ECDHE+CHACHA20",
    )
    try:
        made.load()
    except (OSError, ssl.SSLError) as error:
        files = " and ".join(name for name in (config.tls_cert, config.tls_key) if name)
        raise BadCertificate(f"{files} cannot be used: {error}") from error
    return made


def _http_protocol(config: GatewayConfig) -> type[BoundedHttp]:
    class Http(BoundedHttp):
        """With this server's bounds."""

        header_timeout = config.header_timeout
        max_connections = config.max_connections + SPARE_CONNECTIONS

    return Http


def bind(host: str, port: int, *, several: bool = False) -> socket.socket:
    """Open a listening socket.

    Args:
        host: Address or name.
        port: 0 for a free one.
        several: Whether others of this process may be bound to the port, for the system to spread
            connections over (SO_REUSEPORT).

    Raises:
        PortInUse: If another program listens there.
        CannotListen: If the address cannot be bound for another reason.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, socket.SOCK_STREAM)
    except OSError as error:
        raise CannotListen(f"host {host!r} cannot be listened on: {error}") from error
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if several:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            raise PortInUse(
                f"port {port} on {host} is in use, by another program or by a Legato that was told"
                " to stop and still waits for its streams: end that or choose another --port"
            ) from error
        raise CannotListen(f"{host} port {port} cannot be listened on: {error}") from error
    listening.setblocking(False)
    return listening
