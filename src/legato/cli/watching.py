"""The port on which a worker of its own is watched: /metrics, /healthz and /readyz."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import asynccontextmanager
from typing import ClassVar, Final

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from legato.gateway.http import BoundedHttp
from legato.gateway.server import CannotListen, bind
from legato.settings import MetricsConfig
from legato.telemetry.metrics import CONTENT_TYPE, exposition

MAX_CONNECTIONS: Final = 64
"""Some scrapers and probes, and no more."""

GRACE: Final = 1
"""Seconds for connections to close."""

Fault = Callable[[], str | None]
"""Returns why no work may be sent here, or None."""


class _Http(BoundedHttp):
    """With this port's bound."""

    max_connections: ClassVar[int] = MAX_CONNECTIONS


class _Uvicorn(uvicorn.Server):
    """uvicorn without its signal handlers: the worker is stopped first."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


@asynccontextmanager
async def watched(config: MetricsConfig, fault: Fault) -> AsyncIterator[str]:
    """Answer on a port for the length of the block; gives the address, such as `http://127.0.0.1:9100`.

    Args:
        config: Where; its port is set.
        fault: Asked for each /readyz.

    Raises:
        PortInUse: If another program listens there.
        CannotListen: If the address cannot be bound for another reason.
    """
    try:
        listening = bind(config.host, config.port or 0)
    except CannotListen as error:
        raise type(error)(error.message.replace(" --port", " --metrics-port")) from error
    server = _Uvicorn(
        uvicorn.Config(
            _routes(fault),
            http=_Http,
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="error",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=GRACE,
        )
    )
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    host = f"[{config.host}]" if ":" in config.host else config.host
    try:
        yield f"http://{host}:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        await asyncio.wait({serving})


def _routes(fault: Fault) -> Starlette:
    async def health(_request: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def ready(_request: Request) -> Response:
        why = fault()
        return PlainTextResponse(f"{why or 'ready'}\n", status_code=503 if why else 200)

    async def metrics(_request: Request) -> Response:
        return Response(exposition(), media_type=CONTENT_TYPE)

    app = Starlette(
        routes=[
            Route("/healthz", health),
            Route("/readyz", ready),
            Route("/metrics", metrics),
        ]
    )
    app.router.redirect_slashes = False
    return app
