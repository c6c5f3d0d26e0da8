"""Clients that break their own connection, to see that nothing is lost."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Collection
from random import Random
from typing import Annotated, Final, Literal

import msgspec
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from legato.errors import Forbidden, LegatoError, MalformedMessage, MessageTooLarge
from legato.flow.link import PROFILES
from legato.gateway.config import GatewayConfig
from legato.gateway.connection import Connection
from legato.gateway.identity import is_loopback, is_origin_allowed
from legato.gateway.impaired import WHOLE, Impaired
from legato.gateway.socket import SpeechSocket
from legato.telemetry.logs import logger

IMPAIRMENT_PATH: Final = "/v1/sessions/{session_id}/impairment"

MAX_FREEZE: Final = 10.0
"""Seconds."""

MAX_BODY_BYTES: Final = 4096

BODY_TIMEOUT: Final = 5.0
"""Seconds."""

RESET: Final = struct.pack("ii", 1, 0)
"""Of SO_LINGER: an abort then sends a reset, as a broken line does, and not an end."""

log = logger(__name__)


class UnknownSession(LegatoError):
    """The process that was asked has no such session (never on the WebSocket)."""

    code = "unknown_session"
    advice = "Ask again over another connection, or through the gateway that has the session."


class Order(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a client asks for.

    Attributes:
        token: `resume_token` of its latest welcome.
        action: What to do to its connection.
        seconds: Of a freeze.
        profile: Of a network, or `none`.
    """

    token: Annotated[str, msgspec.Meta(max_length=256)]
    action: Literal["cut", "freeze", "network"]
    seconds: Annotated[float, msgspec.Meta(gt=0, le=MAX_FREEZE)] | None = None
    profile: str | None = None


_decode = msgspec.json.Decoder(Order).decode


class Impairments:
    """Answers clients that want their connection impaired.

    Args:
        config: Of the gateway.
        connections: Those that are open.
        rng: Draws loss and jitter; None for one of its own.
    """

    def __init__(
        self,
        config: GatewayConfig,
        connections: Collection[Connection],
        rng: Random | None = None,
    ) -> None:
        self._config = config
        self._connections = connections
        self._rng = rng or Random()  # noqa: S311  (a model of a network, no secret)

    def routes(self) -> tuple[Route, ...]:
        """Return what is answered."""
        return (Route(IMPAIRMENT_PATH, self._answer, methods=["GET", "POST"]),)

    async def _answer(self, request: Request) -> Response:
        return await self._impair(request) if request.method == "POST" else self._tell(request)

    def _tell(self, request: Request) -> Response:
        """Tell whether impairments may be asked for; it is the same for every session."""
        try:
            self._check_allowed(request)
        except Forbidden as error:
            told = {"allowed": False, "reason": error.message}
        else:
            told = {"allowed": True}
        return JSONResponse({"impairment": told}, headers={"cache-control": "no-store"})

    async def _impair(self, request: Request) -> Response:
        self._check_allowed(request)
        order = _order(await _body(request))
        try:
            connection = self._find(request.path_params["session_id"])
        except UnknownSession as error:
            body = {"error": {"code": error.code, "message": error.message}}
            return JSONResponse(body, status_code=404, headers={"connection": "close"})
        if not connection.admits(order.token):
            raise Forbidden("the token is not the resume_token of this session's welcome")
        assert isinstance(connection.socket, SpeechSocket)  # noqa: S101  (a gateway has no other)
        log.info("connection impaired", action=order.action)
        return JSONResponse({"impairment": impair(connection.socket, order, self._rng)})

    def _check_allowed(self, request: Request) -> None:
        local = is_loopback(self._config.host)
        allowed = self._config.impairments
        if not (local if allowed is None else allowed):
            raise Forbidden(
                "connections may not be broken on purpose here; gateway.impairments = true"
                " (LEGATO_GATEWAY__IMPAIRMENTS=true) allows it"
            )
        origins = self._config.allowed_origins
        if not is_origin_allowed(request.headers, origins, loopback=local):
            raise Forbidden("pages of this origin may not do this; see allowed_origins")

    def _find(self, session_id: str) -> Connection:
        for connection in self._connections:
            if connection.session_id == session_id:
                return connection
        raise UnknownSession(
            "this process has no such session: it is over, or another gateway, or another process"
            " of this one, has it"
        )


def impair(connected: SpeechSocket, order: Order, rng: Random) -> dict[str, str | float]:
    """Do what is asked; return what is in force then."""
    if order.action == "cut":
        cut(connected)
        return {"action": "cut", "profile": WHOLE}
    transport = connected.transport
    impaired = transport if isinstance(transport, Impaired) else Impaired(connected)
    if order.action == "freeze":
        assert order.seconds is not None  # noqa: S101  (checked)
        impaired.freeze(order.seconds)
        return {"action": "freeze", "seconds": order.seconds, "profile": impaired.network}
    assert order.profile is not None  # noqa: S101  (checked)
    if order.profile == WHOLE:
        impaired.mend()
    else:
        impaired.degrade(order.profile, rng)
    return {"action": "network", "profile": order.profile}


def cut(connected: SpeechSocket) -> None:
    """Reset the TCP connection."""
    raw = connected.transport.get_extra_info("socket")
    if raw is not None and raw.family in {socket.AF_INET, socket.AF_INET6}:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    connected.transport.abort()


async def _body(request: Request) -> bytes:
    body = b""
    try:
        async with asyncio.timeout(BODY_TIMEOUT):
            async for piece in request.stream():
                body += piece
                if len(body) > MAX_BODY_BYTES:
                    raise MessageTooLarge(f"an order has at most {MAX_BODY_BYTES} bytes")
    except TimeoutError as error:
        raise MalformedMessage(f"the body did not come within {BODY_TIMEOUT:g} s") from error
    return body


def _order(body: bytes) -> Order:
    try:
        order = _decode(body)
    except msgspec.DecodeError as error:
        raise MalformedMessage(f"the body is no order: {error}") from error
    if order.action == "freeze" and order.seconds is None:
        raise MalformedMessage(f"a freeze needs `seconds`, above 0 to {MAX_FREEZE:g}")
    if order.action == "network" and order.profile not in {*PROFILES, WHOLE}:
        names = ", ".join((*PROFILES, WHOLE))
        raise MalformedMessage(f"a network needs `profile`, one of {names}")
    return order
