"""Connections that outlive a task, as a handshake with a distant service costs several trips."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from legato.engines.upstream.websocket import Link

KEPT: Final = 20.0
"""Seconds for which an idle connection is used again; the service's own pool renews after 25."""


class Links:
    """Idle connections of one engine; safe to use from several threads.

    Args:
        most: Connections that are kept.
        clock: Monotonic seconds.
    """

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._idle: deque[tuple[str, float, Link]] = deque()
        self._most = most
        self._clock = clock
        self._lock = threading.Lock()

    def take(self, url: str) -> Link | None:
        """Return an idle connection to an address, None if there is none to be trusted."""
        with self._lock:
            kept, self._idle = self._idle, deque()
            found = None
            stale = []
            while kept:
                entry = kept.pop()
                if self._clock() - entry[1] > KEPT or not entry[2].is_open:
                    stale.append(entry[2])
                elif found is None and entry[0] == url:
                    found = entry[2]
                else:
                    self._idle.appendleft(entry)
        for link in stale:
            link.drop()
        return found

    def keep(self, url: str, link: Link) -> None:
        """Keep a connection whose task is finished."""
        with self._lock:
            if len(self._idle) < self._most:
                self._idle.append((url, self._clock(), link))
                return
        link.drop()

    def close(self) -> None:
        """Close all that are idle."""
        with self._lock:
            kept, self._idle = self._idle, deque()
        for _, _, link in kept:
            link.drop()
