"""Whatever arrives on a WebSocket, its protocol neither raises nor keeps more than a message."""

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.types import Receive, Scope, Send

from legato.gateway.socket import SpeechSocket
from tests.unit.gateway.transport import FakeTransport, config, frame, handshake, state

LIMIT = 262_144

opcodes = st.integers(0, 15)
frames = st.builds(
    lambda payload, opcode, fin, declared: frame(payload, opcode, fin=fin, declared=declared),
    st.binary(max_size=130),
    opcodes,
    st.booleans(),
    st.sampled_from([-1, -1, -1, -1, 0, 125, 65_536, 2**40, 2**63]),
)
streams = st.lists(st.one_of(frames, frames, st.binary(max_size=20)), max_size=12).map(b"".join)


class Counting:
    """A sink that counts."""

    def __init__(self) -> None:
        self.messages = 0
        self.losses = 0

    def receive(self, data: str | bytes) -> None:
        assert self.losses == 0
        assert len(data) <= LIMIT
        self.messages += 1

    def flush(self) -> None:
        """Nothing to do."""

    def lost(self) -> None:
        self.losses += 1


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    await receive()
    await send({"type": "websocket.accept", "subprotocol": None})
    await asyncio.Event().wait()


@given(data=streams, step=st.integers(1, 200), opening=st.booleans())
@settings(max_examples=300)
def test_any_bytes_are_taken(data: bytes, step: int, *, opening: bool) -> None:
    asyncio.run(feed(data, step, opening=opening))


async def feed(data: bytes, step: int, *, opening: bool) -> None:
    transport = FakeTransport()
    sink = Counting()
    socket = SpeechSocket(config(app), state(), {})
    socket.connection_made(transport)
    if opening:
        socket.data_received(handshake())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        socket.attach(sink)
    for at in range(0, len(data), step):
        if transport.is_closing():
            break
        socket.data_received(data[at : at + step])
        assert len(socket.frames) == 0
    socket.connection_lost(None)
    assert not opening or sink.losses
