"""Both hubs as servers on loopback, with the routes of the real ones and faults on demand.

Written from what the hubs' clients ask for: a listing with checksums, files that are redirected to
another host (the CDN), which takes ranges.
"""

import hashlib
import json
import re
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"
LFS_FROM = 1_000
"""Bytes from which on a file is in LFS, and on the CDN."""


@dataclass
class Faults:
    """What goes wrong with one file; each list is used up request by request.

    Attributes:
        cuts: Bytes after which the connection is cut.
        statuses: Status and Retry-After to answer instead.
        wrong: How often other bytes of the same length are sent.
        ignores_range: Whether the whole file is always sent.
        wrong_range: Whether ranges begin one byte late.
        extra: Bytes sent beyond the listed length.
        stalls: How often an answer stops half way for a second.
        pace: Wait for this event before the second half of each answer.
    """

    cuts: list[int] = field(default_factory=list)
    statuses: list[tuple[int, str | None]] = field(default_factory=list)
    wrong: int = 0
    ignores_range: bool = False
    wrong_range: bool = False
    extra: int = 0
    stalls: int = 0
    pace: threading.Event | None = None


@dataclass
class Seen:
    """A request that came."""

    host: str
    path: str
    headers: dict[str, str]


class Hubs:
    """Both hubs behind one address, and their CDN behind another.

    Attributes:
        files: Content by path of every model there is, by repository.
        faults: By path of the file, or "listing".
        seen: Requests in order.
        etags: By path, where they are not made from the content.
        secret: Token that is wanted, or "".
    """

    def __init__(self) -> None:
        self.files: dict[str, dict[str, bytes]] = {}
        self.faults: defaultdict[str, Faults] = defaultdict(Faults)
        self.seen: list[Seen] = []
        self.etags: dict[str, str] = {}
        self.secret = ""
        self.tells_checksums = True
        self.url = ""
        self.cdn = ""

    def of(self, path: str) -> list[Seen]:
        """Return the requests for a file at the place that gave it, or was to."""
        return [one for one in self.seen if path in unquote(one.path)]

    def huggingface_listing(self, repository: str) -> dict[str, Any]:
        siblings: list[dict[str, Any]] = []
        for path, content in self.files[repository].items():
            row: dict[str, Any] = {"rfilename": path, "size": len(content)}
            blob = b"blob %d\0" % len(content) + content
            row["blobId"] = hashlib.sha1(blob).hexdigest()
            if len(content) >= LFS_FROM:
                row["blobId"] = hashlib.sha1(b"pointer").hexdigest()
                row["lfs"] = {
                    "sha256": hashlib.sha256(content).hexdigest(),
                    "size": len(content),
                    "pointerSize": 134,
                }
            siblings.append(row)
        return {"sha": COMMIT, "siblings": siblings, "cardData": {"license": "apache-2.0"}}

    def modelscope_listing(self, repository: str) -> dict[str, Any]:
        rows: list[dict[str, Any]] = [{"Name": "sub", "Path": "sub", "Type": "tree", "Size": 0}]
        for path, content in self.files[repository].items():
            row = {"Name": path.rsplit("/")[-1], "Path": path, "Type": "blob", "Size": len(content)}
            if self.tells_checksums:
                row["Sha256"] = hashlib.sha256(content).hexdigest()
            rows.append(row)
        return {"Code": 200, "Success": True, "Message": "success", "Data": {"Files": rows}}


class _Handler(BaseHTTPRequestHandler):
    """Answers for the hubs (`is_cdn` false) or for their CDN."""

    hubs: Hubs
    is_cdn = False
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (its name in the base class)
        pass

    def do_GET(self) -> None:
        hubs, parts = self.hubs, urlsplit(self.path)
        host = "cdn" if self.is_cdn else "hub"
        hubs.seen.append(Seen(host, self.path, {k.lower(): v for k, v in self.headers.items()}))
        asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        path = unquote(parts.path)
        routes = (
            (r"/api/models/(\w+/[\w.-]+)/revision/(.+)", self._huggingface),
            (r"/api/v1/models/(\w+/[\w.-]+)/repo/files", self._modelscope),
            (r"/api/v1/models/(\w+/[\w.-]+)/repo", self._file),
            (r"/(\w+/[\w.-]+)/resolve/([^/]+)/(.+)", self._file),
        )
        for pattern, answer in routes:
            if match := re.fullmatch(pattern, path):
                answer(match, asked)
                return
        self._refuse(404)

    def _huggingface(self, match: re.Match[str], asked: dict[str, str]) -> None:
        if self._may(match[1]) and not self._fails("listing"):
            self._json(self.hubs.huggingface_listing(match[1]))

    def _modelscope(self, match: re.Match[str], asked: dict[str, str]) -> None:
        if self._may(match[1]) and not self._fails("listing"):
            assert asked["Recursive"] == "True"
            self._json(self.hubs.modelscope_listing(match[1]))

    def _file(self, match: re.Match[str], asked: dict[str, str]) -> None:
        path = asked.get("FilePath") or match[3]
        content = self.hubs.files.get(match[1], {}).get(path)
        if content is None:
            self._refuse(404)
        elif not self.is_cdn and not self._may(match[1]):
            return
        elif not self.is_cdn and len(content) >= LFS_FROM:
            self._redirect(f"{self.hubs.cdn}{self.path}")
        elif not self._fails(path):
            self._send(path, content)

    def _may(self, repository: str) -> bool:
        told = self.headers.get("Authorization", "") + self.headers.get("Cookie", "")
        if repository not in self.hubs.files or self.hubs.secret not in told:
            # Hugging Face tells the same of what does not exist and of what is not for all.
            self._refuse(401 if self.hubs.secret else 404)
            return False
        return True

    def _fails(self, path: str) -> bool:
        statuses = self.hubs.faults[path].statuses
        if not statuses:
            return False
        status, retry_after = statuses.pop(0)
        self._refuse(status, retry_after)
        return True

    def _send(self, path: str, content: bytes) -> None:
        faults = self.hubs.faults[path]
        etag = self.hubs.etags.get(path, f'"{hashlib.md5(content).hexdigest()}"')
        begin = self._begin(etag, len(content))
        if begin > len(content) or (begin and begin == len(content)):
            self._refuse(416)
            return
        if faults.wrong:
            faults.wrong -= 1
            content = bytes(len(content))
        body = content[begin:] + bytes(faults.extra)
        self.send_response(206 if begin else 200)
        if begin:
            first = begin + 1 if faults.wrong_range else begin
            faults.wrong_range = False
            self.send_header("Content-Range", f"bytes {first}-{len(content) - 1}/{len(content)}")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", etag)
        self.end_headers()
        self._write(body, faults)

    def _write(self, body: bytes, faults: Faults) -> None:
        if faults.cuts:
            self.wfile.write(body[: faults.cuts.pop(0)])
            self.close_connection = True
            return
        half = len(body) // 2
        self.wfile.write(body[:half])
        if faults.stalls:
            faults.stalls -= 1
            self.wfile.flush()
            threading.Event().wait(1)
        if faults.pace is not None:
            self.wfile.flush()
            faults.pace.wait(20)
        try:
            self.wfile.write(body[half:])
        except OSError:  # the client has left
            self.close_connection = True

    def _begin(self, etag: str, size: int) -> int:
        match = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        path = parse_qs(urlsplit(self.path).query).get("FilePath", [self.path.rsplit("/")[-1]])[0]
        if match is None or self.hubs.faults[path].ignores_range:
            return 0
        condition = self.headers.get("If-Range")
        return int(match[1]) if condition in {None, etag} else 0

    def _json(self, body: object) -> None:
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _redirect(self, place: str) -> None:
        self.send_response(302)
        self.send_header("Location", place)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _refuse(self, status: int, retry_after: str | None = None) -> None:
        self.send_response(status)
        if retry_after is not None:
            self.send_header("Retry-After", retry_after)
        self.send_header("Content-Length", "0")
        self.end_headers()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64


@contextmanager
def hubs() -> Iterator[Hubs]:
    """Serve both hubs and their CDN for the length of the block."""
    stand_in = Hubs()
    servers = [
        _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"hubs": stand_in, "is_cdn": cdn}))
        for cdn in (False, True)
    ]
    stand_in.url, stand_in.cdn = (f"http://127.0.0.1:{one.server_address[1]}" for one in servers)
    threads = [threading.Thread(target=one.serve_forever, args=(0.02,)) for one in servers]
    for thread in threads:
        thread.start()
    try:
        yield stand_in
    finally:
        for one, thread in zip(servers, threads, strict=True):
            one.shutdown()
            thread.join(5)
            one.server_close()
