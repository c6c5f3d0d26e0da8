import asyncio
from collections.abc import Iterable

import pytest

from legato.bus.redis.link import Link, Reply, ReplyError, number, pack


class FakeTransport(asyncio.WriteTransport):
    """Keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.aborted = False

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        self.written += b"".join(list_of_data)

    def abort(self) -> None:
        self.aborted = True


class Peer:
    """A link and what comes of it."""

    def __init__(self) -> None:
        self.replies: list[Reply] = []
        self.times_writable = 0
        self.transport = FakeTransport()
        self.link = Link(self.replies.append, self.note)
        self.link.connection_made(self.transport)

    def note(self) -> None:
        self.times_writable += 1


def test_a_command_is_packed_as_redis_wants_it() -> None:
    assert pack(("SET", b"\x00", 12)) == b"*3\r\n$3\r\nSET\r\n$1\r\n\x00\r\n$2\r\n12\r\n"


@pytest.mark.parametrize(("reply", "expected"), [(b"12", 12), (7, 7), (None, 0)])
def test_a_number_is_read_from_digits(reply: Reply, expected: int) -> None:
    assert number(reply) == expected


async def test_replies_are_handed_on_in_order_however_they_are_cut() -> None:
    peer = Peer()
    for byte in b"+OK\r\n:5\r\n$3\r\na\r\n\r\n*2\r\n$-1\r\n:1\r\n":
        peer.link.data_received(bytes([byte]))
    assert peer.replies == [b"OK", 5, b"a\r\n", [None, 1]]


async def test_several_replies_may_come_at_once() -> None:
    peer = Peer()
    peer.link.data_received(b":1\r\n:2\r\n:3\r\n:")
    assert peer.replies == [1, 2, 3]


async def test_an_error_is_a_reply() -> None:
    peer = Peer()
    peer.link.data_received(b"-ERR no\r\n")
    (error,) = peer.replies
    assert isinstance(error, ReplyError)
    assert str(error) == "ERR no"


async def test_what_is_not_redis_ends_the_connection() -> None:
    peer = Peer()
    peer.link.data_received(b"HTTP/1.1 400 Bad Request\r\n")
    assert peer.transport.aborted


async def test_a_link_waits_for_a_server_that_does_not_keep_up() -> None:
    peer = Peer()
    writable = [peer.link.is_writable]
    peer.link.pause_writing()
    writable.append(peer.link.is_writable)
    peer.link.resume_writing()
    writable.append(peer.link.is_writable)
    assert (writable, peer.times_writable) == ([True, False, True], 1)


async def test_a_lost_link_is_not_writable() -> None:
    peer = Peer()
    peer.link.connection_lost(None)
    assert peer.link.lost.is_set()
    assert not peer.link.is_writable


async def test_what_is_written_goes_out_as_it_is() -> None:
    peer = Peer()
    peer.link.write([b"a", b"b"])
    assert peer.transport.written == b"ab"
