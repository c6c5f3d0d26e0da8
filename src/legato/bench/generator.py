"""The load generator: a process of its own that sends chunks when they are due.

It is one loop around `epoll`, so that whatever keeps it from reading keeps it from sending as well,
and shows as lateness. Its clock is `perf_counter`, which on Linux all processes share.

It reads one line of JSON from its standard input (`Plan`) and prints two: when what it does
counts, and what came of it (`Outcome`).
"""

from __future__ import annotations

import gc
import select
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from time import perf_counter
from typing import Final

import msgspec

from legato.bench.dialects import DIALECTS, Dialect
from legato.bench.machine import raise_open_files
from legato.bench.wire_client import CLOSE, PING, PONG, READ_BYTES, Dialled, frame

OPENING: Final = 32
"""Connections that are opened at the same time."""

LEAD: Final = 0.3
"""Seconds from the moment at which all is open to the first chunk."""

BURST: Final = 64
"""Chunks that are sent before the sockets are looked at again, and sockets that are heard before
the clock is."""

SPARE_FILES: Final = 64


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What to do.

    Attributes:
        address: Host and port of the server.
        dialect: One of `DIALECTS`.
        users: Connections; their chunks are spread evenly over the interval.
        interval: Seconds from one chunk of a connection to its next.
        seconds: Length, warm-up included.
        warm_up: Seconds at its beginning that do not count.
        drain: Seconds after the last chunk in which answers still count; what comes later is lost.
    """

    address: str
    dialect: str
    users: int
    interval: float
    seconds: float
    warm_up: float
    drain: float


class Begun(msgspec.Struct, frozen=True, kw_only=True):
    """All connections are open.

    Attributes:
        opening: Seconds that it took.
        counted_from: When the warm-up ends.
        end: When the last chunk is due.
    """

    opening: float
    counted_from: float
    end: float


class Outcome(msgspec.Struct, kw_only=True):
    """What came of it.

    Attributes:
        latencies: Seconds from the intended send time to the answer, warm-up left out.
        lateness: Seconds by which chunks left late, warm-up left out.
        sent: Chunks sent, warm-up included.
        lost: Those without an answer.
        users_lost: How many connections they are of.
        answered: Answers that came between `counted_from` and `end`.
        cpu: Share of one core that the generator used.
        faults: Connections that broke, each with its reason.
    """

    latencies: list[float] = msgspec.field(default_factory=list)
    lateness: list[float] = msgspec.field(default_factory=list)
    sent: int = 0
    lost: int = 0
    users_lost: int = 0
    answered: int = 0
    cpu: float = 0.0
    faults: list[str] = msgspec.field(default_factory=list)


@dataclass(slots=True)
class _Line:
    dialled: Dialled
    dialect: Dialect
    first_due: float = 0.0
    sent: int = 0
    answered: int = 0
    unsent: bytearray = field(default_factory=bytearray)
    open: bool = True


class Generator:
    """One run.

    Args:
        plan: What to do.
        begun: Told when all connections are open.
    """

    def __init__(self, plan: Plan, begun: Callable[[Begun], None]) -> None:
        self._plan = plan
        self._begun = begun
        self._poll = select.epoll()
        self._lines: dict[int, _Line] = {}
        self._outcome = Outcome()
        self._counted_from = self._end = 0.0

    def run(self) -> Outcome:
        """Open the connections, send and hear, and close them."""
        began = perf_counter()
        with ThreadPoolExecutor(OPENING) as pool:
            lines = list(pool.map(self._open, range(self._plan.users)))
        for line in lines:
            line.dialled.socket.setblocking(False)
            self._lines[line.dialled.socket.fileno()] = line
            self._poll.register(line.dialled.socket, select.EPOLLIN)
        gc.collect()
        gc.disable()
        start = perf_counter() + LEAD
        self._counted_from, self._end = start + self._plan.warm_up, start + self._plan.seconds
        self._begun(
            Begun(opening=start - LEAD - began, counted_from=self._counted_from, end=self._end)
        )
        cpu, wall = time.process_time(), perf_counter()
        self._talk(lines, start)
        self._outcome.cpu = (time.process_time() - cpu) / (perf_counter() - wall)
        self._outcome.sent = sum(line.sent for line in lines)
        self._outcome.lost = sum(line.sent - line.answered for line in lines)
        self._outcome.users_lost = sum(line.answered < line.sent for line in lines)
        self._close(lines)
        return self._outcome

    def _open(self, _number: int) -> _Line:
        dialect = DIALECTS[self._plan.dialect]()
        dialled = Dialled(self._plan.address, dialect.path)
        dialect.greet(dialled)
        return _Line(dialled, dialect)

    def _talk(self, lines: list[_Line], start: float) -> None:
        step = self._plan.interval / len(lines)
        for number, line in enumerate(lines):
            line.first_due = start + number * step
        total = round(self._plan.seconds / self._plan.interval) * len(lines)
        deadline = self._end + self._plan.drain
        index = 0
        while (now := perf_counter()) < deadline:
            burst = 0
            while index < total and (due := start + index * step) <= now and burst < BURST:
                self._send(lines[index % len(lines)], due)
                index += 1
                burst += 1
            if index == total and all(line.answered >= line.sent for line in lines):
                return
            wait = (start + index * step if index < total else deadline) - perf_counter()
            for descriptor, event in self._poll.poll(max(0.0, min(wait, 0.1)), BURST):
                self._serve(self._lines[descriptor], event)

    def _send(self, line: _Line, due: float) -> None:
        data = line.dialect.chunk(line.sent)
        line.sent += 1
        if due >= self._counted_from:
            self._outcome.lateness.append(max(0.0, perf_counter() - due))
        self._write(line, data)

    def _write(self, line: _Line, data: bytes) -> None:
        if not line.open:
            return
        if line.unsent:
            line.unsent += data
            return
        try:
            sent = line.dialled.socket.send(data)
        except BlockingIOError:
            sent = 0
        except OSError as error:
            self._break(line, error)
            return
        if sent < len(data):
            line.unsent += data[sent:]
            self._poll.modify(line.dialled.socket, select.EPOLLIN | select.EPOLLOUT)

    def _serve(self, line: _Line, event: int) -> None:
        if event & select.EPOLLOUT:
            data = bytes(line.unsent)
            line.unsent.clear()
            self._poll.modify(line.dialled.socket, select.EPOLLIN)
            self._write(line, data)
        if not line.open or not event & ~select.EPOLLOUT:
            return
        try:
            self._hear(line, line.dialled.socket.recv(READ_BYTES))
        except BlockingIOError:
            return
        except Exception as error:  # noqa: BLE001  one broken connection is told, the others go on
            self._break(line, error)

    def _hear(self, line: _Line, data: bytes) -> None:
        now = perf_counter()
        if not data:
            raise ConnectionResetError("the server closed")
        for opcode, payload in line.dialled.parts.take(data):
            if opcode == PING:
                self._write(line, frame(PONG, payload))
                continue
            if opcode == CLOSE:
                raise ConnectionResetError(payload[2:].decode(errors="replace"))
            if reply := line.dialect.reply(opcode, payload):
                self._write(line, reply)
            for _ in range(line.dialect.answers(opcode, payload)):
                self._answered(line, now)

    def _answered(self, line: _Line, now: float) -> None:
        due = line.first_due + line.answered * self._plan.interval
        line.answered += 1
        if due >= self._counted_from:
            self._outcome.latencies.append(now - due)
        if self._counted_from <= now < self._end:
            self._outcome.answered += 1

    def _break(self, line: _Line, error: Exception) -> None:
        line.open = False
        self._poll.unregister(line.dialled.socket)
        self._outcome.faults.append(f"{type(error).__name__}: {error}")

    def _close(self, lines: list[_Line]) -> None:
        for line in lines:
            if line.open:
                self._write(line, line.dialect.farewell() + frame(CLOSE, b"\x03\xe8"))
            line.dialled.socket.close()
        self._poll.close()


def main() -> None:
    """Run what standard input says."""
    plan = msgspec.json.decode(sys.stdin.buffer.readline(), type=Plan)
    raise_open_files(plan.users + SPARE_FILES)

    def tell(message: Begun | Outcome) -> None:
        sys.stdout.buffer.write(msgspec.json.encode(message) + b"\n")
        sys.stdout.buffer.flush()

    tell(Generator(plan, tell).run())


if __name__ == "__main__":
    main()
