"""How the load speaks to each server."""

from __future__ import annotations

import uuid

from websockets.asyncio.client import ClientConnection

from legato.bench.load import FRAME_BYTES, Messages
from legato.bench.peers.pipecat_wire import audio_bytes_in, audio_message
from legato.errors import ConnectionLost
from legato.protocol.codec import decode_server, encode
from legato.protocol.media import AudioFrame, decode_frame, encode_frame
from legato.protocol.messages import Ack, Hello, Stop, StreamStart, StreamStarted
from legato.protocol.version import VERSION

ACK_EVERY = 5
"""Frames between acks: 100 ms, as every client of legato.v1 does (docs/protocol.md, rule 4)."""

SAMPLE_RATE = 16_000
FRAME_SAMPLES = FRAME_BYTES // 2
CREDIT_SAMPLES = 30 * SAMPLE_RATE
"""What the client library gives beyond what it has taken."""

ANSWERS = 10
"""Messages within which a server must have started the stream."""


class BareSpeaker:
    """Sends binary frames to a server that sends them back."""

    path = "/"

    def __init__(self) -> None:
        self._pcm = bytes(FRAME_BYTES)

    async def greet(self, socket: ClientConnection) -> None:
        """Nothing to open."""

    def encode(self, index: int) -> Messages:
        return [self._pcm]

    def decode(self, message: str | bytes) -> int:
        return int(isinstance(message, bytes))

    def farewell(self) -> Messages:
        return []


class LegatoSpeaker:
    """Speaks legato.v1 with all that a client does: numbers, positions, acks, credit."""

    path = "/v1/stream"

    def __init__(self) -> None:
        self._pcm = bytes(FRAME_BYTES)
        self._received = -1

    async def greet(self, socket: ClientConnection) -> None:
        """Say hello, start an echo stream and wait until it runs.

        Raises:
            ConnectionLost: If the server does not start it.
        """
        await socket.send(encode(Hello(version=VERSION)))
        start = StreamStart(stream=1, stream_id=uuid.uuid4().hex, task="echo")
        await socket.send(encode(start))
        for _ in range(ANSWERS):
            answer = decode_server(await socket.recv())
            if isinstance(answer, StreamStarted):
                return
        raise ConnectionLost("the server does not start an echo stream")

    def encode(self, index: int) -> Messages:
        frame = AudioFrame(self._pcm, index, sample=index * FRAME_SAMPLES)
        data = encode_frame(frame, 1, 0)
        if index % ACK_EVERY or self._received < 0:
            return [data]
        return [self._ack(), data]

    def decode(self, message: str | bytes) -> int:
        if isinstance(message, str):
            return 0
        self._received = decode_frame(message).seq
        return 1

    def farewell(self) -> Messages:
        return [encode(Stop(stream=1))]

    def _ack(self) -> str:
        received, upto = self._received, (self._received + 1) * FRAME_SAMPLES
        return encode(
            Ack(
                stream=1,
                received_seq=received,
                committed_seq=received,
                received_upto=upto,
                committed_upto=upto,
                credit_samples=upto + CREDIT_SAMPLES,
            )
        )


class PipecatSpeaker:
    """Speaks the protobuf frames of pipecat's WebSocket transports.

    Its output may regroup audio, so frames are counted by bytes.
    """

    path = "/ws"

    def __init__(self) -> None:
        self._frame = audio_message(bytes(FRAME_BYTES), sample_rate=SAMPLE_RATE, channels=1)
        self._received_bytes = 0

    async def greet(self, socket: ClientConnection) -> None:
        """Nothing to open."""

    def encode(self, index: int) -> Messages:
        return [self._frame]

    def decode(self, message: str | bytes) -> int:
        if isinstance(message, str):
            return 0
        before = self._received_bytes // FRAME_BYTES
        self._received_bytes += audio_bytes_in(message)
        return self._received_bytes // FRAME_BYTES - before

    def farewell(self) -> Messages:
        return []
