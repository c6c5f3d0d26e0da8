"""The gateway's routes."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from legato.bus.records import EngineRecord
from legato.console.page import Page
from legato.errors import LegatoError, UnsupportedVersion
from legato.gateway.administration import failed
from legato.gateway.catalog import Catalog
from legato.gateway.config import GatewayConfig
from legato.gateway.connection import Connection
from legato.gateway.identity import Identify, is_loopback, is_origin_allowed
from legato.gateway.impairment import Impairments
from legato.gateway.socket import SpeechSocket
from legato.gateway.streams import Streams
from legato.protocol.version import pick_subprotocol
from legato.session.server import ServerSession
from legato.telemetry.metrics import CONNECTIONS, CONNECTIONS_ACTIVE, CONTENT_TYPE, exposition

STREAM_PATH: Final = "/v1/stream"

TOKEN_BYTES: Final = 18


class Gateway:
    """The ASGI application: HTTP by Starlette, and WebSocket on one path.

    Args:
        config: Settings.
        streams: The stream service.
        catalog: What the workers offer.
        identify: Finds out who speaks.
        clock: Returns monotonic seconds.
        routes: More HTTP.

    Attributes:
        connections: Those that are open.
        draining: Whether the gateway is going away.
    """

    def __init__(
        self,
        config: GatewayConfig,
        *,
        streams: Streams,
        catalog: Catalog,
        identify: Identify,
        clock: Callable[[], float],
        routes: Sequence[Route] = (),
    ) -> None:
        self._config = config
        self._streams = streams
        self._catalog = catalog
        self._identify = identify
        self._clock = clock
        self._loopback = is_loopback(config.host)
        self.connections: set[Connection] = set()
        self._http = self._routes(routes)
        self.draining = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "websocket":
            await self._http(scope, receive, send)
            return
        accepted = await self._accept(scope, receive, send)
        del scope  # as long as a connection lives, so would this
        if accepted is not None:
            await self._serve(*accepted)

    # HTTP

    def _routes(self, more: Sequence[Route]) -> ASGIApp:
        app = Starlette(
            routes=[
                Route("/healthz", self._health),
                Route("/readyz", self._ready),
                Route("/metrics", self._metrics),
                Route("/v1/engines", self._engines),
                Route(STREAM_PATH, self._upgrade_needed),
                *Impairments(self._config, self.connections).routes(),
                *more,
                *(Page().routes() if self._config.console else ()),  # last: it has what is left
            ],
            exception_handlers={LegatoError: failed},
        )
        app.router.redirect_slashes = False
        return app

    async def _health(self, request: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def _ready(self, request: Request) -> Response:
        if self.draining:
            return PlainTextResponse("draining\n", status_code=503)
        fault = await self._catalog.fault()
        return PlainTextResponse(f"{fault or 'ready'}\n", status_code=503 if fault else 200)

    async def _metrics(self, request: Request) -> Response:
        return Response(exposition(), media_type=CONTENT_TYPE)

    async def _engines(self, request: Request) -> Response:
        aliases = await self._catalog.aliases()
        engines = [_described(record, aliases) for record in await self._catalog.engines()]
        return JSONResponse({"engines": engines})

    async def _upgrade_needed(self, request: Request) -> Response:
        return PlainTextResponse(
            "This address speaks WebSocket (legato.v1); see docs/protocol.md.\n",
            status_code=426,
            headers={"Upgrade": "websocket", "Connection": "Upgrade"},
        )

    # WebSocket

    async def _accept(
        self, scope: Scope, receive: Receive, send: Send
    ) -> tuple[SpeechSocket, Connection] | None:
        """Answer a handshake; None if it was refused."""
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        await receive()  # websocket.connect
        refusal = self._refusal(scope["path"], headers)
        if refusal is None:
            try:
                subprotocol = pick_subprotocol(scope["subprotocols"])
            except UnsupportedVersion as error:
                refusal = (400, error.message)
        if refusal is not None:
            await _refuse(send, *refusal)
            return None
        socket: SpeechSocket = scope["state"].pop("socket")
        await send({"type": "websocket.accept", "subprotocol": subprotocol})
        return socket, self._connection(socket, headers)

    def _refusal(self, path: str, headers: Mapping[str, str]) -> tuple[int, str] | None:
        """Return why this handshake cannot be accepted, as status and sentence."""
        config = self._config
        if path != STREAM_PATH:
            return 404, f"there is no such address; speech streams are at {STREAM_PATH}"
        if not is_origin_allowed(headers, config.allowed_origins, loopback=self._loopback):
            return 403, "pages of this origin may not connect; see allowed_origins"
        if self.draining:
            return 503, "this server is going away; connect to another"
        if len(self.connections) >= config.max_connections:
            return 503, "this server has no room for another connection; try again later"
        return None

    def _connection(self, socket: SpeechSocket, headers: Mapping[str, str]) -> Connection:
        config = self._config
        session = ServerSession(
            session_id=secrets.token_urlsafe(TOKEN_BYTES),
            resume_token=secrets.token_urlsafe(TOKEN_BYTES),
            now=self._clock(),
            limits=config.limits,
            heartbeat=config.heartbeat,
            idle_timeout=config.idle_timeout,
        )
        return Connection(
            socket,
            session,
            self._streams,
            identify=self._identify,
            headers=headers,
            slow_timeout=config.slow_timeout,
        )

    async def _serve(self, socket: SpeechSocket, connection: Connection) -> None:
        self.connections.add(connection)
        CONNECTIONS_ACTIVE.inc()
        socket.attach(connection)
        try:
            await connection.run()
        finally:
            self.connections.discard(connection)
            CONNECTIONS_ACTIVE.dec()
            CONNECTIONS.labels(code=str(connection.close_code)).inc()


async def _refuse(send: Send, status: int, sentence: str) -> None:
    body = f"{sentence}\n".encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8")]
    if status == 503:
        headers.append((b"retry-after", b"1"))
    await send({"type": "websocket.http.response.start", "status": status, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": body})


def _described(
    record: EngineRecord, aliases: Mapping[tuple[str, str], list[str]]
) -> dict[str, Any]:
    described: dict[str, Any] = msgspec.to_builtins(record)
    if record.kind == "synthesize":
        for voice in described.get("voices", ()):
            if names := aliases.get((record.name, voice["name"])):
                voice["aliases"] = names
    return described
