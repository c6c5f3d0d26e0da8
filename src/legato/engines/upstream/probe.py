"""Looks at upstreams that serve nothing, so that a dead one is known before it is asked."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

PORTS: Final = {"http": 80, "ws": 80, "grpc": 50_000, "https": 443, "wss": 443, "grpcs": 443}


def reachable(url: str, timeout: float) -> bool:
    """Tell whether something takes connections at an address."""
    parts = urlsplit(url)
    address = parts.hostname or "", parts.port or PORTS.get(parts.scheme, 0)
    try:
        with socket.create_connection(address, timeout):
            return True
    except OSError:
        return False


class Prober:
    """Calls a function again and again in a thread of its own, until it is closed.

    Args:
        look: What is called; bounded in time.
        interval: Seconds between two calls; 0 is never.
    """

    def __init__(self, look: Callable[[], None], interval: float) -> None:
        self._look = look
        self._interval = interval
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="upstream-probe", daemon=True)

    def start(self) -> None:
        """Begin."""
        if self._interval > 0:
            self._thread.start()

    def close(self) -> None:
        """End; does not wait for a look that is under way."""
        self._over.set()

    def _run(self) -> None:
        while not self._over.wait(self._interval):
            self._look()
