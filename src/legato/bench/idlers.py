"""Idle clients: a process that opens connections, and then does what an idle client does.

It reads one line of JSON from its standard input (`Crowd`), prints a line when all is open, and
pings on each connection by turns until its standard input ends.
"""

from __future__ import annotations

import select
import sys
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import Final

import msgspec

from legato.bench.machine import raise_open_files
from legato.bench.wire_client import READ_BYTES, TEXT, Dialled, frame
from legato.protocol.codec import encode
from legato.protocol.connection import Ping
from legato.protocol.messages import Hello
from legato.protocol.version import VERSION

OPENING: Final = 16
SPARE_FILES: Final = 64


class Crowd(msgspec.Struct, frozen=True, kw_only=True):
    """What to open.

    Attributes:
        address: Host and port of the server.
        source: Address of this machine to come from.
        count: Connections.
        ping_every: Seconds between the pings of a connection.
    """

    address: str
    source: str
    count: int
    ping_every: float


def main() -> None:
    """Do what standard input says."""
    crowd = msgspec.json.decode(sys.stdin.buffer.readline(), type=Crowd)
    raise_open_files(crowd.count + SPARE_FILES)
    with ThreadPoolExecutor(OPENING) as pool:
        lines = list(pool.map(_arrive, [crowd] * crowd.count))
    print("open", flush=True)
    _idle(crowd, lines)
    for line in lines:
        line.socket.close()


def _arrive(crowd: Crowd) -> Dialled:
    line = Dialled(crowd.address, "/v1/stream", crowd.source)
    line.send(TEXT, encode(Hello(version=VERSION)))
    line.receive()
    return line


def _idle(crowd: Crowd, lines: list[Dialled]) -> None:
    poll = select.epoll()
    by_descriptor = {line.socket.fileno(): line for line in lines}
    for descriptor in by_descriptor:
        poll.register(descriptor, select.EPOLLIN)
    poll.register(sys.stdin, select.EPOLLIN)
    step = crowd.ping_every / len(lines)
    start, index = perf_counter(), 0
    while True:
        while start + index * step <= perf_counter():
            ping = encode(Ping(id=index))
            lines[index % len(lines)].socket.sendall(frame(TEXT, ping.encode()))
            index += 1
        for descriptor, _event in poll.poll(max(0.0, start + index * step - perf_counter())):
            line = by_descriptor.get(descriptor)
            if line is None:
                return
            if not line.socket.recv(READ_BYTES):
                raise ConnectionResetError("the server closed an idle connection")


if __name__ == "__main__":
    main()
