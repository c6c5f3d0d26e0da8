"""A plain connection to a server, for tests that ask it something themselves."""

from __future__ import annotations

import socket

import hiredis

from legato.bus.redis.link import Reply, pack
from tests.redis_server import RedisServer


class Line:
    """Call it with a command; it returns the reply, errors too."""

    def __init__(self, server: RedisServer) -> None:
        self._server = server

    def __call__(self, *command: str | bytes | int) -> Reply:
        reader = hiredis.Reader(notEnoughData=...)
        with socket.create_connection(("127.0.0.1", self._server.port), timeout=5) as connection:
            connection.sendall(pack(command))
            while (reply := reader.gets()) is ...:
                reader.feed(connection.recv(1 << 16))
        return reply
