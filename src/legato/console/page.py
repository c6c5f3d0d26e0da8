"""Serves the built page: types, caches, compression, and what the browser lets it do."""

from __future__ import annotations

import asyncio
import re
from importlib.resources.abc import Traversable
from typing import Final

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from legato.console.files import INDEX, BuiltFile, built_page, read

IMMUTABLE: Final = "public, max-age=31536000, immutable"
REVALIDATED: Final = "no-cache"

NOT_BUILT: Final = """\
The console was not built. In a checkout of Legato: make web
Then load this page again. Speech itself works without it: see /v1/engines and docs/protocol.md.
"""

_HOST: Final = re.compile(r"[\w.:\[\]-]{1,255}", re.ASCII)
"""What may stand in a policy; of a host that is more than that, nothing is said."""


class Page:
    """Answers for the files of the page; read once, from the first request on that finds them.

    Args:
        folder: Of the built page; None takes the one that is installed.
    """

    def __init__(self, folder: Traversable | None = None) -> None:
        self._folder = folder
        self._files: dict[str, BuiltFile] = {}

    def routes(self) -> tuple[Route, ...]:
        """Return what is answered: files at the top and those that the build names."""
        paths = ("/", "/assets/{asset}", "/{name}")
        return tuple(Route(path, self._answer) for path in paths)

    async def _answer(self, request: Request) -> Response:
        if not self._files:
            self._files = await asyncio.to_thread(lambda: read(self._folder or built_page()))
        asset = request.path_params.get("asset")
        path = request.path_params.get("name", INDEX) if asset is None else f"assets/{asset}"
        file = self._files.get(path)
        if file is None:
            missing = NOT_BUILT if path == INDEX and not self._files else "Not Found"
            return PlainTextResponse(missing, status_code=404, headers=guards(request.headers))
        return respond(file, request.headers)


def respond(file: BuiltFile, asked: Headers) -> Response:
    """Return a file as the browser asked for it; what is not to be sent, the server leaves out.

    Args:
        file: Of the page.
        asked: The request's headers.
    """
    packed = file.packed if takes_gzip(asked.get("accept-encoding", "")) else None
    etag = file.etag if packed is None else f'{file.etag[:-1]}-gzip"'
    headers = {
        **guards(asked),
        "cache-control": IMMUTABLE if file.is_immutable else REVALIDATED,
        "etag": etag,
    }
    if file.packed is not None:
        headers["vary"] = "accept-encoding"
    if is_known(etag, asked.get("if-none-match", "")):
        return Response(status_code=304, headers=headers)
    if packed is not None:
        headers["content-encoding"] = "gzip"
    body = file.body if packed is None else packed
    return Response(body, headers={**headers, "content-type": file.media_type})


def guards(asked: Headers) -> dict[str, str]:
    """Return what the browser is told to let the page do, and nothing else."""
    return {
        "content-security-policy": policy(asked.get("host", "")),
        "permissions-policy": "microphone=(self), camera=(), geolocation=()",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
    }


def policy(host: str) -> str:
    """Return the content security policy (CSP level 3) for a page from `host`.

    The sockets are named: for some browsers 'self' is HTTP alone.
    """
    sockets = f" ws://{host} wss://{host}" if _HOST.fullmatch(host) else ""
    return (
        "default-src 'none'; script-src 'self'; style-src 'self';"
        f" connect-src 'self'{sockets}; img-src 'self' data:; media-src 'self' blob:;"
        " worker-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    )


def takes_gzip(accepted: str) -> bool:
    """Whether an `Accept-Encoding` lets gzip through (RFC 9110 §12.5.3)."""
    weights = {}
    for item in accepted.lower().split(","):
        name, _, parameter = item.partition(";")
        weights[name.strip()] = parameter.replace(" ", "")
    weight = weights.get("gzip", weights.get("*", "q=0"))
    return re.fullmatch(r"q=0(\.0*)?", weight) is None


def is_known(etag: str, known: str) -> bool:
    """Whether an `If-None-Match` names this content (RFC 9110 §13.1.2)."""
    return known.strip() == "*" or etag in (
        item.strip().removeprefix("W/") for item in known.split(",")
    )
