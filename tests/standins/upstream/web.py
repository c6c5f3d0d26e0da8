"""An HTTP server whose next answers can be told to go wrong."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from email.parser import BytesParser
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl


@dataclass
class Trouble:
    """How one answer goes wrong.

    Attributes:
        status: Instead of 200; the body is `said`.
        headers: More headers.
        said: Body of an answer that is no audio.
        media_type: Of that body.
        pause: Seconds before the headers.
        stall_after: Bytes of audio after which nothing more comes, for `stall` seconds.
        stall: See there.
        reset_after: Bytes of audio after which the connection is reset.
        cut_after: Bytes of audio after which it ends as if that were all.
    """

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    said: bytes | None = None
    media_type: str = "application/json"
    pause: float = 0.0
    stall_after: int | None = None
    stall: float = 5.0
    reset_after: int | None = None
    cut_after: int | None = None


@dataclass(frozen=True)
class Asked:
    """What a client asked for."""

    method: str
    path: str
    headers: dict[str, str]
    fields: dict[str, str]
    files: dict[str, bytes]


class Web:
    """A server on a free port of the loopback.

    Attributes:
        troubles: Of the next answers, one each.
        asked: What clients asked for.
        key: That clients must show, "" for none.
        broken_off: Answers whose client went away before the end.
        pace: Seconds between two pieces of an answer.
        piece_bytes: Size of a piece; odd, so that a sample may lie in two.
    """

    def __init__(self, *, key: str = "") -> None:
        self.troubles: deque[Trouble] = deque()
        self.asked: list[Asked] = []
        self.key = key
        self.broken_off = threading.Semaphore(0)
        self.pace = 0.0
        self.piece_bytes = 4_001
        self._over = threading.Event()
        web = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                web.serve(self)

            def do_POST(self) -> None:
                web.serve(self)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    @property
    def port(self) -> int:
        return self._server.server_address[1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def close(self) -> None:
        self._over.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def reply(self, asked: Asked) -> tuple[int, str | None, Iterable[bytes]]:
        """Return status, content type and pieces of the body."""
        raise NotImplementedError

    def serve(self, handler: BaseHTTPRequestHandler) -> None:
        size = int(handler.headers.get("Content-Length") or 0)
        body = handler.rfile.read(size)
        asked = _understood(handler, body)
        self.asked.append(asked)
        trouble = Trouble()
        if not asked.path.endswith("/models"):
            trouble = self.troubles.popleft() if self.troubles else trouble
        self._over.wait(trouble.pause)
        try:
            self._answer(handler, asked, trouble)
        except OSError:
            self.broken_off.release()
            handler.close_connection = True

    def _answer(self, handler: BaseHTTPRequestHandler, asked: Asked, trouble: Trouble) -> None:
        if self.key and asked.headers.get("authorization") != f"Bearer {self.key}":
            said = {"error": {"message": f"Incorrect API key {asked.headers.get('authorization')}"}}
            _send(handler, 401, json.dumps(said).encode(), "application/json", {})
            return
        if trouble.said is not None:
            _send(handler, trouble.status, trouble.said, trouble.media_type, trouble.headers)
            return
        status, media_type, pieces = self.reply(asked)
        if status != 200:
            _send(handler, status, b"".join(pieces), media_type, {})
            return
        handler.send_response(200)
        if media_type:
            handler.send_header("Content-Type", media_type)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        self._stream(handler, self._cut(pieces), trouble)

    def _cut(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        for piece in pieces:
            for at in range(0, len(piece), self.piece_bytes):
                yield piece[at : at + self.piece_bytes]

    def _stream(
        self, handler: BaseHTTPRequestHandler, pieces: Iterable[bytes], trouble: Trouble
    ) -> None:
        sent = 0
        for piece in pieces:
            if trouble.reset_after is not None and sent >= trouble.reset_after:
                _reset(handler)
            left = trouble.cut_after - sent if trouble.cut_after is not None else len(piece)
            piece = piece[: max(left, 0)]
            if not piece:
                break
            handler.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            sent += len(piece)
            if trouble.stall_after is not None and sent >= trouble.stall_after:
                self._over.wait(trouble.stall)
            self._over.wait(self.pace)
        handler.wfile.write(b"0\r\n\r\n")


def _reset(handler: BaseHTTPRequestHandler) -> None:
    linger = struct.pack("ii", 1, 0)
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    handler.close_connection = True
    handler.connection.close()
    raise ConnectionResetError


def _send(
    handler: BaseHTTPRequestHandler,
    status: int,
    body: bytes,
    media_type: str | None,
    headers: dict[str, str],
) -> None:
    handler.send_response(status)
    handler.send_header("Content-Length", str(len(body)))
    if media_type:
        handler.send_header("Content-Type", media_type)
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body)


def _understood(handler: BaseHTTPRequestHandler, body: bytes) -> Asked:
    headers = {name.lower(): value for name, value in handler.headers.items()}
    kind = headers.get("content-type", "")
    fields: dict[str, str] = {}
    files: dict[str, bytes] = {}
    if kind.startswith("application/json"):
        plain = json.loads(body)
        fields = {n: v if isinstance(v, str) else json.dumps(v) for n, v in plain.items()}
    elif kind.startswith("application/x-www-form-urlencoded"):
        fields = dict(parse_qsl(body.decode()))
    elif kind.startswith("multipart/form-data"):
        head = f"Content-Type: {kind}\r\n\r\n".encode()
        for part in BytesParser(policy=HTTP).parsebytes(head + body).iter_parts():
            name = str(part.get_param("name", header="content-disposition"))
            content = part.get_payload(decode=True)
            assert isinstance(content, bytes)
            if part.get_filename() is None:
                fields[name] = content.decode()
            else:
                files[name] = content
    return Asked(handler.command, handler.path, headers, fields, files)


def unused_port() -> int:
    """Return a port at which nothing listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def eventually(met, seconds: float = 5.0) -> bool:  # type: ignore[no-untyped-def]  # any predicate
    """Wait until a condition is met; tell whether it was."""
    end = time.monotonic() + seconds
    while not met() and time.monotonic() < end:
        time.sleep(0.005)
    return bool(met())
