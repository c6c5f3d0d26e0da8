"""How each server's answer to a chunk of audio is asked for, in bytes, for the load generator."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, Protocol

from legato.bench.peers.pipecat_wire import audio_bytes_in, audio_message
from legato.bench.wire_client import BINARY, TEXT, BadServer, Dialled, frame
from legato.protocol.codec import decode_server, encode
from legato.protocol.media import AudioFrame, decode_frame, encode_frame
from legato.protocol.messages import Ack, Hello, Stop, StreamStart, StreamStarted
from legato.protocol.version import VERSION

CHUNK_BYTES: Final = 6400
"""200 ms of 16 kHz mono PCM, as a browser's microphone page sends it."""

SAMPLE_RATE: Final = 16_000
CHUNK_SAMPLES: Final = CHUNK_BYTES // 2
CREDIT_SAMPLES: Final = 30 * SAMPLE_RATE
PCM: Final = bytes(CHUNK_BYTES)
ANSWERS: Final = 20
"""Messages within which a server must have begun."""


class Dialect(Protocol):
    """One connection's end of the talk.

    Attributes:
        path: Of the request that opens it.
    """

    path: str

    def greet(self, line: Dialled) -> None:
        """Begin."""

    def chunk(self, index: int) -> bytes:
        """Return the frames that carry chunk `index`."""

    def answers(self, opcode: int, payload: bytes) -> int:
        """Count the chunks that a message answers."""

    def reply(self, opcode: int, payload: bytes) -> bytes:
        """Return frames that must be sent at once because of a message, mostly none."""

    def farewell(self) -> bytes:
        """Return the frames that end the stream."""


class Plain:
    """Binary messages that come back as they are."""

    path = "/"

    def __init__(self) -> None:
        self._frame = frame(BINARY, PCM)

    def greet(self, line: Dialled) -> None:
        """Nothing to begin."""

    def chunk(self, index: int) -> bytes:
        return self._frame

    def answers(self, opcode: int, payload: bytes) -> int:
        return int(opcode == BINARY)

    def reply(self, opcode: int, payload: bytes) -> bytes:
        return b""

    def farewell(self) -> bytes:
        return b""


class Legato(Plain):
    """legato.v1 with what a client does: numbers, positions, credit, and an ack with each chunk.

    An ack is due every 100 ms while anything flows (docs/protocol.md, rule 4), so there is one for
    each chunk of 200 ms.
    """

    path = "/v1/stream"

    def __init__(self) -> None:
        super().__init__()
        self._received = -1

    def greet(self, line: Dialled) -> None:
        """Say hello and start an echo stream.

        Raises:
            BadServer: If it does not begin.
        """
        start = StreamStart(stream=1, stream_id=uuid.uuid4().hex, task="echo")
        line.send(TEXT, encode(Hello(version=VERSION)))
        line.send(TEXT, encode(start))
        said = ""
        for _ in range(ANSWERS):
            opcode, payload = line.receive()
            said = payload.decode(errors="replace")
            if opcode == TEXT and isinstance(decode_server(said), StreamStarted):
                return
        raise BadServer(f"the server does not start an echo stream; it said {said[:200]}")

    def chunk(self, index: int) -> bytes:
        audio = AudioFrame(PCM, index, sample=index * CHUNK_SAMPLES)
        data = frame(BINARY, encode_frame(audio, 1, 0))
        return data if self._received < 0 else self._ack() + data

    def answers(self, opcode: int, payload: bytes) -> int:
        """Count a chunk.

        Raises:
            BadServer: If it is not the next one, whole, or if the stream fails.
        """
        if opcode != BINARY:
            if any(name in payload for name in _ENDINGS):
                raise BadServer(f"the stream failed: {payload.decode(errors='replace')[:200]}")
            return 0
        audio = decode_frame(payload)
        if len(audio.payload) != CHUNK_BYTES or audio.seq != self._received + 1:
            raise BadServer(f"frame {audio.seq} came after {self._received}")
        self._received = audio.seq
        return 1

    def farewell(self) -> bytes:
        return frame(TEXT, _bytes(encode(Stop(stream=1))))

    def _ack(self) -> bytes:
        received, upto = self._received, (self._received + 1) * CHUNK_SAMPLES
        ack = Ack(
            stream=1,
            received_seq=received,
            committed_seq=received,
            received_upto=upto,
            committed_upto=upto,
            credit_samples=upto + CREDIT_SAMPLES,
        )
        return frame(TEXT, _bytes(encode(ack)))


class SocketIo(Plain):
    """The articles' wire: Socket.IO 5 on Engine.IO 4, namespace `/ws`, event `audio_chunk`.

    A chunk is a text frame with a placeholder and a binary frame with the protobuf message of
    requirement R18; its answer is a `result` event with the chunk's number.
    """

    path = "/socket.io/?EIO=4&transport=websocket"
    _EVENT = frame(TEXT, b'451-/ws,["audio_chunk",{"_placeholder":true,"num":0}]')
    _PING, _PONG = b"2", b"3"

    def greet(self, line: Dialled) -> None:
        """Join the namespace.

        Raises:
            BadServer: If it is refused.
        """
        line.receive()
        line.send(TEXT, "40/ws,")
        answer = b""
        for _ in range(ANSWERS):
            opcode, answer = line.receive()
            if answer.startswith(b"40/ws,"):
                return
            if reply := self.reply(opcode, answer):
                line.socket.sendall(reply)
        raise BadServer(f"the namespace /ws is refused: {answer[:200]!r}")

    def chunk(self, index: int) -> bytes:
        return self._EVENT + frame(BINARY, encode_frame(AudioFrame(PCM, index), 0, 0))

    def answers(self, opcode: int, payload: bytes) -> int:
        """Count a result.

        Raises:
            BadServer: If it is an error.
        """
        if not payload.startswith(b"42/ws,"):
            return 0
        name, *_ = json.loads(payload[6:])
        if name == "error":
            raise BadServer(f"the server says {payload[:200]!r}")
        return int(name == "result")

    def reply(self, opcode: int, payload: bytes) -> bytes:
        return frame(TEXT, self._PONG) if payload == self._PING else b""


class Pipecat(Plain):
    """The protobuf frames of pipecat's WebSocket transports; its audio is counted by bytes."""

    path = "/ws"

    def __init__(self) -> None:
        super().__init__()
        self._frame = frame(BINARY, audio_message(PCM, sample_rate=SAMPLE_RATE, channels=1))
        self._received_bytes = 0

    def answers(self, opcode: int, payload: bytes) -> int:
        if opcode != BINARY:
            return 0
        before = self._received_bytes // CHUNK_BYTES
        self._received_bytes += audio_bytes_in(payload)
        return self._received_bytes // CHUNK_BYTES - before


_ENDINGS: Final = (b'"type":"error"', b'"type":"stream_end"')
"""What no echo that runs says."""


def _bytes(message: str | bytes) -> bytes:
    return message.encode() if isinstance(message, str) else message


DIALECTS: Final[Mapping[str, Callable[[], Dialect]]] = MappingProxyType(
    {"plain": Plain, "legato": Legato, "socket.io": SocketIo, "pipecat": Pipecat}
)
