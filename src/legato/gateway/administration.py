"""What operators ask of a gateway over HTTP: how all processes are, and to forget a stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from legato.bus.base import Bus, StreamKey
from legato.bus.cluster import Cluster, encode_cluster, read_cluster
from legato.bus.erasure import erase_stream
from legato.errors import (
    AuthError,
    Forbidden,
    LegatoError,
    MessageTooLarge,
    ProtocolError,
    Unauthenticated,
)
from legato.gateway.config import GatewayConfig
from legato.gateway.identity import Identify, Identity, is_loopback, is_origin_allowed
from legato.protocol.identifiers import check_stream_id
from legato.telemetry.logs import logger

CLUSTER_PATH: Final = "/v1/cluster"
STREAMS_PATH: Final = "/v1/streams/{stream_id}"

FRESH: Final = 1.0
"""Seconds that a picture of the cluster is used: it costs the bus more than other calls."""

FORWARDED: Final = ("forwarded", "x-forwarded-for", "x-real-ip", "via")
"""Headers of a request that a proxy has passed on: its client may be anywhere."""

_STATUS: Final[tuple[tuple[type[LegatoError], int], ...]] = (
    (Unauthenticated, 401),
    (AuthError, 403),
    (MessageTooLarge, 413),
    (ProtocolError, 400),
)
"""Errors and what they answer with; others are the server's, 503."""

log = logger(__name__)


class Administration:
    """Answers operators.

    Args:
        bus: Of all processes.
        config: Of the gateway.
        identify: Finds out who asks.
        clock: Returns monotonic seconds.
    """

    def __init__(
        self,
        bus: Bus,
        config: GatewayConfig,
        *,
        identify: Identify,
        clock: Callable[[], float],
    ) -> None:
        self._bus = bus
        self._config = config
        self._identify = identify
        self._clock = clock
        self._picture: Cluster | None = None
        self._taken_at = 0.0

    def routes(self) -> tuple[Route, ...]:
        """Return what is answered."""
        return (
            Route(CLUSTER_PATH, self._cluster),
            Route(STREAMS_PATH, self._forget, methods=["DELETE"]),
        )

    async def _cluster(self, request: Request) -> Response:
        tenant = self._identified(request).tenant
        picture = await self._look()
        own = tuple(lease for lease in picture.leases if lease.tenant == tenant)
        body = encode_cluster(msgspec.structs.replace(picture, leases=own))
        return Response(body, media_type="application/json")

    async def _forget(self, request: Request) -> Response:
        identity = self._identified(request)
        if not identity.proven and not _is_from_here(request):
            raise Forbidden("without a key, streams are forgotten from the server's machine alone")
        headers, local = request.headers, is_loopback(self._config.host)
        if not is_origin_allowed(headers, self._config.allowed_origins, loopback=local):
            raise Forbidden("pages of this origin may not do this; see allowed_origins")
        key = StreamKey(identity.tenant, check_stream_id(request.path_params["stream_id"]))
        receipt = await erase_stream(self._bus, key)
        log.info("stream forgotten", stream=key.stream_id)
        return JSONResponse({"erased": msgspec.to_builtins(receipt)})

    async def _look(self) -> Cluster:
        now = self._clock()
        if self._picture is None or now >= self._taken_at + FRESH:
            self._picture = await read_cluster(self._bus)
            self._taken_at = now
        return self._picture

    def _identified(self, request: Request) -> Identity:
        return self._identify(request.headers, bearer(request.headers))


def bearer(headers: Mapping[str, str]) -> str | None:
    """Return the key that a request shows (RFC 6750 §2.1), or None."""
    scheme, _, key = headers.get("authorization", "").partition(" ")
    return key.strip() or None if scheme.lower() == "bearer" else None


async def failed(_request: Request, error: Exception) -> Response:
    """Answer with an error."""
    assert isinstance(error, LegatoError)  # noqa: S101  (registered for these)
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 503)
    body = {"error": {"code": error.code, "message": error.message}}
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
    return JSONResponse(body, status_code=status, headers=headers)


def _is_from_here(request: Request) -> bool:
    """Whether the request comes from this machine, and not through a proxy on it."""
    client = request.client
    proxied = any(name in request.headers for name in FORWARDED)
    return client is not None and is_loopback(client.host) and not proxied
