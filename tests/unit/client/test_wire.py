"""What moves messages between a socket and its owner."""

import asyncio
from collections.abc import Sequence

import pytest

from legato.client.wire import PROTOCOL_ERROR, Wire
from legato.errors import Internal, LegatoError, MalformedMessage
from tests.unit.client.fakes import settle
from tests.unit.client.network import FakeServer, FakeSocket


class Heard(FakeServer):
    """A server that keeps what it is sent as it is."""

    def __init__(self) -> None:
        super().__init__()
        self.raw: list[str | bytes] = []

    def receive(self, socket: FakeSocket, data: str | bytes) -> None:
        self.raw.append(data)


class FakeOwner:
    """Notes what it is told, and has a few frames to send.

    Args:
        fault: Raised when a message comes.
    """

    def __init__(self, fault: Exception | None = None) -> None:
        self._fault = fault
        self.waiting: list[str | bytes] = []
        self.messages: list[str | bytes] = []
        self.told: list[str] = []
        self.error: LegatoError | None = None

    def heard(self, wire: Wire, message: str | bytes) -> None:
        if self._fault is not None:
            raise self._fault
        self.messages.append(message)

    def due(self, wire: Wire) -> Sequence[str | bytes]:
        frames, self.waiting = self.waiting, []
        return frames

    def sent(self, wire: Wire) -> None:
        self.told.append("sent")

    def lost(self, wire: Wire) -> None:
        self.told.append("lost")

    def broken(self, wire: Wire, error: LegatoError) -> None:
        self.error = error


async def test_messages_go_both_ways() -> None:
    server, owner = Heard(), FakeOwner()
    socket = FakeSocket(server)
    wire = Wire(socket, owner)
    socket.say(b"down")
    await settle(lambda: owner.messages == [b"down"])
    owner.waiting = ["up", b"and up"]
    wire.wake()
    await settle(lambda: owner.told == ["sent"])

    assert server.raw == ["up", b"and up"]
    assert (wire.is_open, wire.unsent_bytes) == (True, 0)
    await wire.close()
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_what_came_before_the_end_is_told_before_it() -> None:
    owner = FakeOwner()
    socket = FakeSocket(Heard())
    wire = Wire(socket, owner)
    socket.say(b"last words")
    socket.cut()
    owner.waiting = [b"too late"]
    wire.wake()  # the writer finds out first
    await settle(lambda: owner.told == ["lost"])

    assert owner.messages == [b"last words"]
    await wire.close()


async def test_what_is_due_leaves_before_the_close() -> None:
    server, owner = Heard(), FakeOwner()
    socket = FakeSocket(server)
    wire = Wire(socket, owner)
    owner.waiting = [b"farewell"]

    await wire.close()

    assert server.raw == [b"farewell"]
    assert socket.close_code == 1000


@pytest.mark.parametrize(
    ("fault", "kind", "code"),
    [
        (MalformedMessage("what?"), MalformedMessage, PROTOCOL_ERROR),
        (ZeroDivisionError("oh"), Internal, 1006),
    ],
)
async def test_a_fault_in_what_came_ends_it(
    fault: Exception, kind: type[LegatoError], code: int
) -> None:
    owner = FakeOwner(fault)
    socket = FakeSocket(Heard())
    wire = Wire(socket, owner)
    socket.say(b"anything")
    await settle(lambda: socket.close_code == code)

    assert isinstance(owner.error, kind)
    await wire.close()
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_dropping_it_ends_its_tasks() -> None:
    socket = FakeSocket(Heard())
    wire = Wire(socket, FakeOwner())
    wire.abort()
    await settle(lambda: asyncio.all_tasks() == {asyncio.current_task()})

    assert socket.close_code == 1006
