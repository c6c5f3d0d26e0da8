"""A bad network around one connection: what it reads and writes is held back by the link model.

Stands between a socket and its transport while it is asked for, and is not there otherwise.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Any, Final

from legato.flow.link import PROFILES, SEGMENT_BYTES, ReliableLink
from legato.gateway.socket import WRITE_HIGH_BYTES, SpeechSocket

HELD_BYTES: Final = 65_536
"""What may be under way in each direction before its sender has to wait, as in a kernel."""

WHOLE: Final = "none"
"""Name of the network that delays nothing."""

WRITE_LOW_BYTES: Final = WRITE_HIGH_BYTES // 4
"""From here on a paused writer goes on; asyncio's share."""

Bytes = bytes | bytearray | memoryview


class Lane:
    """What is under way in one direction, in order.

    Args:
        loop: Whose clock and timers are used.
        emptied: Called when something has left.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, emptied: Callable[[], None]) -> None:
        self._loop = loop
        self._emptied = emptied
        self._flying: deque[tuple[float, int, Callable[[], None]]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self.link: ReliableLink | None = None
        self.frozen_until = -math.inf
        self.is_held = False
        self.size = 0

    @property
    def is_empty(self) -> bool:
        """Whether nothing is under way."""
        return not self._flying

    def send(self, size: int, deliver: Callable[[], None]) -> bool:
        """Have `deliver` called when `size` bytes have arrived; False if they never will."""
        now = self._loop.time()
        due = now if self.link is None else self.link.send(size, now)
        self._flying.append((due, size, deliver))
        self.size += size
        self.arm()
        return due < math.inf

    def arm(self) -> None:
        """Set the timer anew."""
        self.disarm()
        if self._flying and not self.is_held:
            due = max(self._flying[0][0], self.frozen_until)
            self._timer = self._loop.call_at(due, self._deliver)

    def disarm(self) -> None:
        """Deliver nothing until `arm`."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def clear(self) -> None:
        """Lose everything."""
        self.disarm()
        self._flying.clear()
        self.size = 0

    def _deliver(self) -> None:
        self._timer = None
        now = self._loop.time()
        flying = self._flying
        while flying and not self.is_held and max(flying[0][0], self.frozen_until) <= now:
            _, size, deliver = flying.popleft()
            self.size -= size
            deliver()
        self.arm()
        self._emptied()


class Impaired(asyncio.Transport, asyncio.Protocol):
    """The transport that a socket sees, and the protocol that its transport sees.

    Neither side grows without bound: beyond `HELD_BYTES` nothing more is read, and the writer is
    paused as a full transport would pause it.

    Args:
        socket: Whose transport it takes the place of.

    Attributes:
        network: Name of the profile in force, or `WHOLE`.
    """

    def __init__(self, socket: SpeechSocket) -> None:
        super().__init__()
        self._socket = socket
        self._inner = socket.transport
        self._loop = asyncio.get_running_loop()
        self.network = WHOLE
        self._up = Lane(self._loop, self._settle)
        self._down = Lane(self._loop, self._settle)
        self._closing = self._inner.is_closing()
        self._aborted = self._lost = self._told = self._stopped = self._is_aside = False
        self._inner_full = self._writer_waits = not socket.is_writable
        self._up.is_held = socket.read_paused
        self._inner.set_protocol(self)
        socket.transport = self
        if socket.read_paused and not self._closing:
            self._inner.resume_reading()  # within this one's bound

    # what is asked for

    def freeze(self, seconds: float) -> None:
        """Let nothing through for so long, from now on."""
        until = self._loop.time() + seconds
        for lane in (self._up, self._down):
            lane.frozen_until = until
            lane.arm()
        self._loop.call_at(until, self._settle)

    def degrade(self, name: str, rng: Random) -> None:
        """Carry everything over the network of this profile from now on."""
        profile = PROFILES[name]
        self.network = name
        self._up.link = ReliableLink(profile.up, rng, return_delay=profile.down.delay)
        self._down.link = ReliableLink(profile.down, rng, return_delay=profile.up.delay)

    def mend(self) -> None:
        """Delay nothing more; stand aside when what is under way has arrived."""
        self._up.link = self._down.link = None
        self.network = WHOLE
        self._settle()

    @property
    def under_way(self) -> tuple[int, int]:
        """Bytes that are held back, up and down."""
        return self._up.size, self._down.size

    # what the socket asks of its transport

    def write(self, data: Bytes) -> None:
        if self._closing or not data:
            return
        for piece in _pieces(data):
            self._carry(self._down, len(piece), partial(self._write, piece))
        self._bound_writer()

    def writelines(self, list_of_data: Any) -> None:
        self.write(b"".join(list_of_data))

    def can_write_eof(self) -> bool:
        return self._inner.can_write_eof()

    def write_eof(self) -> None:
        self._carry(self._down, 0, self._write_eof)

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            self._carry(self._down, 0, self._inner.close)

    def abort(self) -> None:
        self._closing = self._aborted = True
        self._down.clear()
        self._up.clear()
        if self._lost:  # what was cleared may have had that in it, and nobody else tells of it
            self._loop.call_soon(self._lose, None)
        self._inner.abort()

    def is_closing(self) -> bool:
        return self._closing

    def get_write_buffer_size(self) -> int:
        return max(0, self._down.size - HELD_BYTES) + self._inner.get_write_buffer_size()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._inner.set_write_buffer_limits(high, low)

    def pause_reading(self) -> None:
        self._up.is_held = not self._lost  # what is left must be handed over before the end
        if self._up.is_held:
            self._up.disarm()

    def resume_reading(self) -> None:
        self._up.is_held = False
        self._up.arm()
        self._settle()

    def is_reading(self) -> bool:
        return not self._up.is_held

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._inner.get_extra_info(name, default)

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        raise NotImplementedError("a socket keeps its connection")

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._socket

    # what the transport tells its protocol

    def data_received(self, data: bytes) -> None:
        for piece in _pieces(data):
            self._carry(self._up, len(piece), partial(self._hand_over, bytes(piece)))
        self._bound_reader()

    def eof_received(self) -> bool | None:
        if self._inner.get_extra_info("sslcontext") is not None:
            return False  # TLS cannot be half closed: it is lost with that, which is told in order
        self._carry(self._up, 0, self._hand_over_eof)
        return True  # the socket is told when its time comes

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = True
        self._down.clear()
        if self._aborted:
            self._lose(exc)
            return
        self._up.is_held = False
        self._carry(self._up, 0, partial(self._lose, exc))

    def pause_writing(self) -> None:
        self._inner_full = True
        self._bound_writer()

    def resume_writing(self) -> None:
        self._inner_full = False
        self._bound_writer()

    # details

    def _carry(self, lane: Lane, size: int, deliver: Callable[[], None]) -> None:
        if not lane.send(size, deliver):
            self.abort()  # as TCP gives a connection up

    def _write(self, piece: Bytes) -> None:
        if not self._inner.is_closing():
            self._inner.write(piece)

    def _write_eof(self) -> None:
        if not self._inner.is_closing():
            self._inner.write_eof()

    def _hand_over(self, data: bytes) -> None:
        if not self._closing:
            self._socket.data_received(data)

    def _hand_over_eof(self) -> None:
        if not self._closing:
            self._socket.eof_received()
            self.close()  # as a transport does by itself, unless it is told not to

    def _lose(self, exc: Exception | None) -> None:
        self._closing = True
        if not self._told:
            self._told = True
            self._socket.connection_lost(exc)

    def _bound_reader(self) -> None:
        full = self._up.size > (HELD_BYTES // 2 if self._stopped else HELD_BYTES)
        if full == self._stopped or self._inner.is_closing():
            return
        self._stopped = full
        if full:
            self._inner.pause_reading()
        else:
            self._inner.resume_reading()

    def _bound_writer(self) -> None:
        unsent = self._down.size - HELD_BYTES
        full = self._inner_full or unsent > (
            WRITE_LOW_BYTES if self._writer_waits else WRITE_HIGH_BYTES
        )
        if full == self._writer_waits:
            return
        self._writer_waits = full
        if full:
            self._socket.pause_writing()
        else:
            self._socket.resume_writing()

    def _settle(self) -> None:
        """Let go of who waited, and stand aside when there is nothing left to do."""
        self._bound_reader()
        self._bound_writer()
        frozen = self._up.frozen_until > self._loop.time()
        waiting = not (self._up.is_empty and self._down.is_empty)
        busy = waiting or self._up.is_held or self._up.link or frozen
        if busy or self._closing or self._is_aside:
            return
        self._is_aside = True
        self._inner.set_protocol(self._socket)
        self._socket.transport = self._inner


def _pieces(data: Bytes) -> Sequence[Bytes]:
    if len(data) <= SEGMENT_BYTES:
        return (data,)
    view = memoryview(bytes(data))
    return [view[at : at + SEGMENT_BYTES] for at in range(0, len(view), SEGMENT_BYTES)]
