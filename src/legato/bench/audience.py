"""Listeners in real time: a process with many of them, each of whom has a text spoken.

It is one loop around `epoll`, like the load generator, so that a listener costs next to nothing.
Each plays from its first audio on, at the pace of speech; what has not come when it is due is an
underrun. Its clock is `perf_counter`.

It reads one line of JSON from its standard input (`Audience`), prints an empty object once all
connections are open, and at the end what each of them heard (`Told`).
"""

from __future__ import annotations

import gc
import select
import sys
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from time import perf_counter
from typing import Final

import msgspec

from legato.bench.machine import raise_open_files
from legato.bench.wire_client import CLOSE, PING, PONG, READ_BYTES, TEXT, BadServer, Dialled, frame
from legato.protocol.codec import decode_server, encode
from legato.protocol.media import AudioFrame, decode_frame
from legato.protocol.messages import (
    Ack,
    ClientMessage,
    Error,
    Finalize,
    Hello,
    StreamEnd,
    StreamStart,
    Text,
)
from legato.protocol.version import VERSION

OPENING: Final = 8
"""Connections that are opened at the same time."""

LEAD: Final = 0.3
"""Seconds from the moment at which all is open to the first start."""

FRAME_MS: Final = 20
ACK_EVERY: Final = 5
"""Frames between acks: 100 ms, as every client of legato.v1 does (docs/protocol.md, rule 4)."""

CREDIT: Final = 30
"""Seconds of audio that a listener gives credit for beyond what it has."""

BURST: Final = 64
SPARE_FILES: Final = 64
PCM: Final = "pcm_s16le"


class Audience(msgspec.Struct, frozen=True, kw_only=True):
    """Who listens, and to what.

    Attributes:
        address: Host and port of the server.
        starts: When each asks, in seconds from the beginning.
        texts: What each has spoken.
        held: Seconds that each holds its first audio back before it plays.
        codec: Of the audio.
        sample_rate: Hz.
        within: Seconds from the beginning after which nobody listens any more.
    """

    address: str
    starts: list[float]
    texts: list[str]
    held: float = 0.0
    codec: str = PCM
    sample_rate: int = 24_000
    within: float = 60.0


class Heard(msgspec.Struct, kw_only=True):
    """What one listener heard.

    Attributes:
        late: Seconds by which it asked late, which is this process's fault.
        first: Seconds from when it was to ask until its first audio, or None if none came.
        seconds: Of audio.
        underruns: Gaps while it played.
        stalled: Seconds of those.
        complete: Whether the stream came to its end.
        fault: Why it failed, if it did.
    """

    late: float = 0.0
    first: float | None = None
    seconds: float = 0.0
    underruns: int = 0
    stalled: float = 0.0
    complete: bool = False
    fault: str = ""


class Told(msgspec.Struct, kw_only=True):
    """What they heard.

    Attributes:
        heard: Of each, in the order of `starts`.
        cpu: Share of one core that this process used.
    """

    heard: list[Heard]
    cpu: float


class Playing:
    """One playout at the pace of speech, of what comes in order.

    Args:
        held: Seconds that the first audio is held back.

    Attributes:
        underruns: Gaps so far.
        stalled: Seconds of those.
        seconds: Of audio so far.
        first_at: When the first came, or None.
    """

    def __init__(self, held: float) -> None:
        self._held = held
        self._dry_at = 0.0
        self.underruns = 0
        self.stalled = 0.0
        self.seconds = 0.0
        self.first_at: float | None = None

    def add(self, seconds: float, now: float) -> None:
        """Take audio that came at `now`."""
        if self.first_at is None:
            self.first_at = now
            self._dry_at = now + self._held
        elif now > self._dry_at:
            self.underruns += 1
            self.stalled += now - self._dry_at
            self._dry_at = now
        self._dry_at += seconds
        self.seconds += seconds


@dataclass(slots=True)
class _Seat:
    dialled: Dialled
    due: float
    text: str
    playing: Playing
    heard: Heard = field(default_factory=Heard)
    asked: bool = False
    over: bool = False
    received: int = -1
    upto: int = 0


class Listeners:
    """All listeners of this process.

    Args:
        audience: Who they are.
        begun: Called when all connections are open.
    """

    def __init__(self, audience: Audience, begun: Callable[[], None]) -> None:
        self._audience = audience
        self._begun = begun
        self._poll = select.epoll()
        self._seats: dict[int, _Seat] = {}

    def run(self) -> Told:
        """Open the connections, ask when it is time, and hear all to the end."""
        audience = self._audience
        with ThreadPoolExecutor(OPENING) as pool:
            lines = list(pool.map(self._open, range(len(audience.starts))))
        start = perf_counter() + LEAD
        seats = [
            _Seat(line, start + due, text, Playing(audience.held))
            for line, due, text in zip(lines, audience.starts, audience.texts, strict=True)
        ]
        for seat in seats:
            seat.dialled.socket.setblocking(False)
            self._seats[seat.dialled.socket.fileno()] = seat
            self._poll.register(seat.dialled.socket, select.EPOLLIN)
        self._begun()
        gc.collect()
        gc.disable()
        cpu, wall = time.process_time(), perf_counter()
        self._hear_all(seats, start + audience.within)
        used = (time.process_time() - cpu) / (perf_counter() - wall)
        for seat in seats:
            seat.dialled.socket.close()
        self._poll.close()
        return Told(heard=[_result(seat) for seat in seats], cpu=used)

    def _open(self, _number: int) -> Dialled:
        line = Dialled(self._audience.address, "/v1/stream")
        line.send(TEXT, encode(Hello(version=VERSION)))
        line.receive()
        return line

    def _hear_all(self, seats: list[_Seat], deadline: float) -> None:
        order = sorted(seats, key=lambda seat: seat.due)
        asked = 0
        while (now := perf_counter()) < deadline and not all(seat.over for seat in seats):
            while asked < len(order) and order[asked].due <= now:
                self._ask(order[asked])
                asked += 1
            until = order[asked].due if asked < len(order) else deadline
            wait = max(0.0, min(until - perf_counter(), 0.1))
            for descriptor, _ in self._poll.poll(wait, BURST):
                self._serve(self._seats[descriptor])

    def _ask(self, seat: _Seat) -> None:
        audience = self._audience
        seat.asked = True
        seat.heard.late = perf_counter() - seat.due
        start = StreamStart(
            stream=1,
            stream_id=uuid.uuid4().hex,
            task="synthesize",
            codec=audience.codec,
            sample_rate=audience.sample_rate,
            frame_ms=FRAME_MS,
            options={"cache": False},
        )
        self._say(
            seat,
            start,
            Text(stream=1, seq=0, text=seat.text),
            Finalize(stream=1, seq=1),
            StreamEnd(stream=1, seq=2),
        )

    def _say(self, seat: _Seat, *messages: ClientMessage) -> None:
        data = b"".join(frame(TEXT, _bytes(encode(message))) for message in messages)
        try:
            sent = seat.dialled.socket.send(data)
        except OSError as error:
            self._end(seat, f"{type(error).__name__}: {error}")
            return
        if sent < len(data):
            self._end(seat, "the server does not read")

    def _serve(self, seat: _Seat) -> None:
        try:
            data = seat.dialled.socket.recv(READ_BYTES)
            now = perf_counter()
            for opcode, payload in seat.dialled.parts.take(data):
                self._hear(seat, opcode, payload, now)
        except BlockingIOError:
            return
        except Exception as error:  # noqa: BLE001  one broken stream is told, the others go on
            self._end(seat, f"{type(error).__name__}: {error}")
        else:
            if not data:
                self._end(seat, "the server closed")

    def _hear(self, seat: _Seat, opcode: int, payload: bytes, now: float) -> None:
        if opcode == PING:
            seat.dialled.socket.send(frame(PONG, payload))
        elif opcode == CLOSE:
            raise BadServer(payload[2:].decode(errors="replace"))
        elif opcode == TEXT:
            self._read(seat, payload.decode())
        else:
            self._take(seat, decode_frame(payload), now)

    def _read(self, seat: _Seat, message: str) -> None:
        said = decode_server(message)
        if isinstance(said, Error):
            raise BadServer(f"{said.code}: {said.message}")
        if isinstance(said, StreamEnd):
            seat.heard.complete = True
            self._end(seat)

    def _take(self, seat: _Seat, audio: AudioFrame, now: float) -> None:
        samples = self._samples(audio)
        seat.received = audio.seq
        seat.upto = audio.sample + samples
        seat.playing.add(samples / self._audience.sample_rate, now)
        if audio.seq % ACK_EVERY == 0 or audio.last:
            ack = Ack(
                stream=1,
                received_seq=seat.received,
                committed_seq=seat.received,
                received_upto=seat.upto,
                committed_upto=seat.upto,
                credit_samples=seat.upto + CREDIT * self._audience.sample_rate,
            )
            self._say(seat, ack)

    def _samples(self, audio: AudioFrame) -> int:
        if self._audience.codec == PCM:
            return len(audio.payload) // 2
        return self._audience.sample_rate * FRAME_MS // 1000

    def _end(self, seat: _Seat, fault: str = "") -> None:
        if not seat.over:
            seat.over = True
            seat.heard.fault = fault
            self._poll.unregister(seat.dialled.socket)


def _result(seat: _Seat) -> Heard:
    heard, playing = seat.heard, seat.playing
    heard.seconds, heard.underruns, heard.stalled = (
        playing.seconds,
        playing.underruns,
        playing.stalled,
    )
    if playing.first_at is not None:
        heard.first = playing.first_at - seat.due
    if not heard.complete and not heard.fault:
        heard.fault = "no end in time"
    return heard


def _bytes(message: str | bytes) -> bytes:
    return message.encode() if isinstance(message, str) else message


def main() -> None:
    """Listen to what standard input says."""
    audience = msgspec.json.decode(sys.stdin.buffer.readline(), type=Audience)
    raise_open_files(len(audience.starts) + SPARE_FILES)

    def tell(message: object) -> None:
        sys.stdout.buffer.write(msgspec.json.encode(message) + b"\n")
        sys.stdout.buffer.flush()

    tell(Listeners(audience, lambda: tell({})).run())


if __name__ == "__main__":
    main()
