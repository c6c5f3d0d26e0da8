"""What operators ask of a gateway over HTTP: how all processes are, and to forget a stream."""

from __future__ import annotations

from collections.abc import Callable
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
    BadAudio,
    LegatoError,
    MessageTooLarge,
    ProtocolError,
    RequestError,
    TooManyVoices,
    Unauthenticated,
    UnknownVoice,
    VoiceExists,
)
from legato.gateway.access import Access
from legato.protocol.identifiers import check_stream_id
from legato.telemetry.logs import logger

CLUSTER_PATH: Final = "/v1/cluster"
STREAMS_PATH: Final = "/v1/streams/{stream_id}"

FRESH: Final = 1.0
"""Seconds that a picture of the cluster is used: it costs the bus more than other calls."""

_STATUS: Final[tuple[tuple[type[LegatoError], int], ...]] = (
    (Unauthenticated, 401),
    (AuthError, 403),
    (MessageTooLarge, 413),
    (ProtocolError, 400),
    (UnknownVoice, 404),
    (VoiceExists, 409),
    (TooManyVoices, 409),
    (BadAudio, 422),
    (RequestError, 400),
)
"""Errors and what they answer with; others are the server's, 503."""

log = logger(__name__)


class Administration:
    """Answers operators.

    Args:
        bus: Of all processes.
        access: Finds out who asks, and what he may.
        clock: Returns monotonic seconds.
    """

    def __init__(self, bus: Bus, *, access: Access, clock: Callable[[], float]) -> None:
        self._bus = bus
        self._access = access
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
        tenant = self._access.identify(request).tenant
        picture = await self._look()
        own = tuple(lease for lease in picture.leases if lease.tenant == tenant)
        body = encode_cluster(msgspec.structs.replace(picture, leases=own))
        return Response(body, media_type="application/json")

    async def _forget(self, request: Request) -> Response:
        identity = self._access.check_change(request)
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


async def failed(_request: Request, error: Exception) -> Response:
    """Answer with an error."""
    assert isinstance(error, LegatoError)  # noqa: S101  (registered for these)
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 503)
    body = {"error": {"code": error.code, "message": error.message}}
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
    return JSONResponse(body, status_code=status, headers=headers)
