"""A page of the console as one user has it, and all that passes between it and the server."""

import json
import re
import wave
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Locator,
    Page,
    WebSocket,
    expect,
)

from legato.protocol.media import AudioFrame, decode_frame

WAIT = 15_000.0
"""Milliseconds that anything may take; a slow machine is not a broken page."""

Message = dict[str, Any]


@dataclass
class Visit:
    """One page, and what was seen of it.

    Args:
        page: It.
        url: Where the server is, as `http://127.0.0.1:PORT`.
    """

    page: Page
    url: str
    complaints: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    sockets: list[WebSocket] = field(default_factory=list)
    down: list[AudioFrame] = field(default_factory=list)
    up: list[AudioFrame] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("console", self._note)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("websocket", self._follow)

    def _note(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.complaints.append(message.text)

    def _follow(self, socket: WebSocket) -> None:
        self.sockets.append(socket)
        self.asked.append(socket.url)
        socket.on("framereceived", lambda data: self._take(data, self.down))
        socket.on("framesent", lambda data: self._take(data, self.up))

    def _take(self, data: str | bytes, frames: list[AudioFrame]) -> None:
        if isinstance(data, bytes):
            frames.append(decode_frame(data))
        elif frames is self.down:
            self.messages.append(json.loads(data))

    def open(self, fragment: str = "#/speak") -> None:
        """Go to a page and wait until it has its connection."""
        self.page.goto(f"{self.url}/{fragment}")
        expect(self.page.get_by_role("status").filter(has_text=CONNECTED)).to_be_visible()

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    def type(self, text: str) -> None:
        """Put `text` into the box in place of what is there."""
        self.page.get_by_label("Text to speak").fill(text)

    def says(self, words: str, *, within: float = WAIT) -> None:
        """Wait until the page says how it stands in these words."""
        state = self.page.get_by_role("status").filter(has_text=words)
        expect(state.first).to_be_visible(timeout=within)

    def alert(self, words: str, *, within: float = WAIT) -> None:
        """Wait until the page says what is wrong in these words."""
        told = self.page.get_by_role("alert").filter(has_text=words)
        expect(told).to_be_visible(timeout=within)

    def save(self, name: str) -> bytes:
        """Press a button that downloads, and return what it gives."""
        with self.page.expect_download() as caught:
            self.button(name).click()
        return Path(caught.value.path()).read_bytes()

    def number(self, name: str) -> str:
        """A number of the narrow column with its unit, as it stands there."""
        row = self.page.locator("dl > div").filter(
            has=self.page.locator("dt", has_text=re.compile(f"^{name}$"))
        )
        return row.locator("dd").inner_text().strip()

    def payload(self) -> bytes:
        """What the server sent of the last stream, each sample once."""
        latest = {frame.sample: frame.payload for frame in self.down}
        return b"".join(payload for _, payload in sorted(latest.items()))


CONNECTED = re.compile("^(connected|已连接)$")


def pcm_of(wav: bytes) -> bytes:
    with wave.open(BytesIO(wav)) as file:
        assert (file.getnchannels(), file.getsampwidth()) == (1, 2)
        return bytes(file.readframes(file.getnframes()))


@contextmanager
def context(browser: Browser, **options: Any) -> Iterator[BrowserContext]:
    """A user of their own: no cookies, no storage."""
    made = browser.new_context(**{"locale": "en-US", "permissions": ["microphone"], **options})
    made.set_default_timeout(WAIT)
    try:
        yield made
    finally:
        made.close()


def origin(url: str) -> str:
    """Scheme and host, of a socket those of its page."""
    parts = urlsplit(url)
    return f"{parts.scheme.replace('ws', 'http')}://{parts.netloc}"
