"""The pure session alone: what it takes to pass one frame up and one down."""

from __future__ import annotations

import gc
from time import thread_time_ns

from legato.bench.benchmark import Benchmark, Setup
from legato.bench.row import Figure, Row
from legato.protocol.codec import encode
from legato.protocol.media import AudioFrame, encode_frame
from legato.protocol.messages import Ack, Hello, StreamStart
from legato.protocol.version import VERSION
from legato.session.events import Received
from legato.session.server import ServerSession
from legato.session.server_stream import ServerStream

FRAMES = 5_000
RUNS = 15
FRAME = 0.02
FRAME_BYTES = 640
FRAME_SAMPLES = FRAME_BYTES // 2
ACK_EVERY = 5
MARK_EVERY = 10
"""Frames for which a worker writes one mark, as `echo` does."""

COST = Figure("session.frame", "us", 12.0)


class Duplex:
    """A server's session with one open stream, driven as the gateway drives it."""

    def __init__(self) -> None:
        self._now = 0.0
        self._sent: list[list[str | bytes]] = []
        self._session = ServerSession(session_id="s", resume_token="", now=0.0)
        self._session.receive(encode(Hello(version=VERSION)), 0.0)
        start = StreamStart(stream=1, stream_id="bench", task="echo")
        self._session.receive(encode(start), 0.0)
        self._session.take_events()
        stream = self._session.accept(1, engine="echo", voice=None, now=0.0)
        assert isinstance(stream, ServerStream)  # noqa: S101  (it was asked for)
        self._stream = stream
        self._session.take_frames(0.0)

    def take_sent(self) -> int:
        """Count the audio frames that came down since the last call."""
        sent, self._sent = self._sent, []
        return sum(isinstance(frame, bytes) for frames in sent for frame in frames)

    def run(self, frames: list[bytes], acks: dict[int, str], pcm: bytes) -> int:
        """Pass all `frames` up and as many down; return nanoseconds of CPU for all of them.

        Args:
            frames: As they come over the wire, numbered on from the last run.
            acks: Text that arrives before the frame of this place.
            pcm: Payload of what goes down.
        """
        session, stream = self._session, self._stream
        began = thread_time_ns()
        for place, frame in enumerate(frames):
            now = self._now = self._now + FRAME
            if place in acks:
                session.receive(acks[place], now)
            session.receive(frame, now)
            for event in session.take_events():
                if type(event) is Received:
                    self._echo(stream, event, pcm, now)
            self._sent.append(session.take_frames(now))
            session.next_timer(now)
        return thread_time_ns() - began

    def _echo(self, stream: ServerStream, event: Received, pcm: bytes, now: float) -> None:
        for item in event.items:
            seq = item.seq or 0
            stream.stored(seq, now)
            sample = seq * FRAME_SAMPLES
            stream.relay_frame(AudioFrame(pcm, seq, sample=sample))
            if seq % MARK_EVERY == 0:
                stream.committed(seq, sample + FRAME_SAMPLES, 0, now)


async def measure(setup: Setup) -> list[Row]:
    """Pass frames through a session and count the CPU of this thread."""
    runs = setup.times(RUNS, 3)
    duplex = Duplex()
    costs = []
    for number in range(runs + 1):
        setup.tell(f"run {number} of {runs}")
        cost = pass_frames(duplex, first=number * FRAMES)
        sent = duplex.take_sent()
        if sent != FRAMES:
            return [COST.missing(f"invalid: {sent} frames came down for {FRAMES} that went up")]
        if number:
            costs.append(cost)
    note = (
        "CPU for one 640 B frame up and one down, with protobuf, digest, pacing, replay and"
        f" the acks of both sides; median of {runs} runs of {FRAMES} frames"
    )
    return [COST.of(costs, note=note)]


def pass_frames(duplex: Duplex, *, first: int) -> float:
    """Pass 5,000 frames numbered from `first`; return microseconds of CPU for each."""
    pcm = bytes(range(256)) * (FRAME_BYTES // 256) + bytes(FRAME_BYTES % 256)
    numbers = range(first, first + FRAMES)
    frames = [
        encode_frame(AudioFrame(pcm, seq, sample=seq * FRAME_SAMPLES), 1, 0) for seq in numbers
    ]
    acks = {place: ack(first + place - 1) for place in range(0, FRAMES, ACK_EVERY)}
    gc.collect()
    return duplex.run(frames, acks, pcm) / FRAMES / 1e3


def ack(received: int) -> str:
    """Return the ack of a listener that holds everything up to `received`."""
    upto = (received + 1) * FRAME_SAMPLES
    return encode(
        Ack(
            stream=1,
            received_seq=received,
            committed_seq=received,
            received_upto=upto,
            committed_upto=upto,
            credit_samples=upto + 30 * 16_000,
        )
    )


BENCHMARKS = (
    Benchmark(
        name="session.frame",
        about="CPU of the pure session for a duplex frame.",
        figures=(COST,),
        run=measure,
        served=False,
    ),
)
