"""The gateway's side of an HTTP request: uvicorn's protocol with bounds of time and size.

uvicorn alone waits for a header for ever, and keeps as much of it as comes (study reliability §0).
"""

from __future__ import annotations

import asyncio
from typing import ClassVar, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

MAX_HEADER_BYTES: Final = 65_536
"""Size of a request's header; what one read brings (256 kB) may come on top."""


class BoundedHttp(HttpToolsProtocol):
    """HTTP whose header must come in time and within bounds; one request at a time.

    Attributes:
        header_timeout: Seconds for a header to arrive, and between two requests.
        max_connections: Connections of the server, WebSockets included; more are cut off.
    """

    header_timeout: ClassVar[float] = 10.0
    max_connections: ClassVar[int] = 10_000
    _deadline: asyncio.TimerHandle | None = None
    _header_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn declares it
        super().connection_made(transport)
        if len(self.connections) > self.max_connections:
            transport.abort()
        else:
            self._expect_header()

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._deadline is None or self.transport.is_closing():
            return
        self._header_bytes += len(data)
        if self._header_bytes > MAX_HEADER_BYTES:
            self.send_400_response("The request's header is too large.")

    def on_headers_complete(self) -> None:
        self._disarm()
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and not cycle.response_complete:
            self.transport.close()  # pipelined requests would wait in memory, without bound
            return
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.transport.is_closing():
            self._expect_header()

    def handle_websocket_upgrade(self) -> None:
        self._disarm()
        super().handle_websocket_upgrade()
        self.parser = None  # type: ignore[assignment]  # they hold each other, and nobody else holds them from here on

    def _expect_header(self) -> None:
        self._disarm()
        self._header_bytes = 0
        self._deadline = self.loop.call_later(self.header_timeout, self._cut)

    def _cut(self) -> None:
        if self.transport.get_write_buffer_size():  # it does not read either: close would wait
            self.transport.abort()
        else:
            self.transport.close()

    def _disarm(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
