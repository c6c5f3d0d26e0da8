"""One audio frame as protobuf and as JSON: bytes on the wire and CPU."""

from __future__ import annotations

import base64
import json
import statistics
from collections.abc import Callable
from time import thread_time_ns

import msgspec

from legato.bench.benchmark import Benchmark, Setup
from legato.bench.row import Figure, Row
from legato.protocol.media import AudioFrame, decode_frame, encode_frame

SIZES = (640, 6400)
REPEATS = 2_000
RUNS = 7

BYTES = {size: Figure(f"wire.protobuf.bytes.{size}", "B") for size in SIZES}
CPU = {size: Figure(f"wire.protobuf.cpu.{size}", "us") for size in SIZES}


class JsonFrame(msgspec.Struct):
    """The same fields as JSON; base64 is what it has for bytes."""

    pcm: bytes
    seq: int
    last: bool
    stream: int
    sample: int
    epoch: int
    utterance: int


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(JsonFrame)


def to_msgspec(frame: AudioFrame) -> bytes:
    """Write a frame as JSON with msgspec."""
    return _encoder.encode(
        JsonFrame(frame.payload, frame.seq, frame.last, 1, frame.sample, 0, frame.utterance)
    )


def to_json(frame: AudioFrame) -> bytes:
    """Write a frame as JSON with the standard library."""
    fields = {
        "pcm": base64.b64encode(frame.payload).decode(),
        "seq": frame.seq,
        "last": frame.last,
        "stream": 1,
        "sample": frame.sample,
        "epoch": 0,
        "utterance": frame.utterance,
    }
    return json.dumps(fields, separators=(",", ":")).encode()


def from_json(data: bytes) -> AudioFrame:
    """Read what `to_json` wrote."""
    fields = json.loads(data)
    pcm = base64.b64decode(fields["pcm"])
    return AudioFrame(pcm, fields["seq"], fields["last"], 1, fields["sample"], 0, 0)


def to_protobuf(frame: AudioFrame) -> bytes:
    """Write a frame as it goes over the wire."""
    return encode_frame(frame, 1, 0)


CODINGS: dict[str, tuple[Callable[[AudioFrame], bytes], Callable[[bytes], object]]] = {
    "protobuf": (to_protobuf, decode_frame),
    "json": (to_json, from_json),
    "msgspec": (to_msgspec, _decoder.decode),
}


async def measure(setup: Setup) -> list[Row]:
    """Write and read frames of both sizes in each coding, by turns."""
    runs = setup.times(RUNS)
    rows = []
    for size in SIZES:
        frame = AudioFrame(bytes(index % 251 for index in range(size)), 500, sample=160_000)
        costs: dict[str, list[float]] = {name: [] for name in CODINGS}
        for number in range(runs):
            setup.tell(f"{size} B, run {number + 1} of {runs}")
            for name in CODINGS:
                costs[name].append(cost_us(name, frame))
        rows += [_bytes_row(size, frame), _cpu_row(size, costs)]
    return rows


def cost_us(coding: str, frame: AudioFrame) -> float:
    """Return microseconds of CPU to write and read one frame."""
    write, read = CODINGS[coding]
    began = thread_time_ns()
    for _ in range(REPEATS):
        read(write(frame))
    return (thread_time_ns() - began) / REPEATS / 1e3


def _bytes_row(size: int, frame: AudioFrame) -> Row:
    sizes = {name: len(write(frame)) for name, (write, _) in CODINGS.items()}
    less = 1 - sizes["protobuf"] / sizes["msgspec"]
    note = f"JSON with base64: {sizes['msgspec']} B; protobuf is {less:.0%} smaller"
    return BYTES[size].row(sizes["protobuf"], note=note)


def _cpu_row(size: int, costs: dict[str, list[float]]) -> Row:
    medians = {name: statistics.median(samples) for name, samples in costs.items()}
    note = (
        "write and read; JSON with base64:"
        f" {medians['json']:.1f} us (standard library), {medians['msgspec']:.1f} us (msgspec)"
    )
    return CPU[size].of(costs["protobuf"], note=note)


BENCHMARKS = (
    Benchmark(
        name="wire.protobuf",
        about="One audio frame as protobuf and as JSON: bytes and CPU.",
        figures=(*BYTES.values(), *CPU.values()),
        run=measure,
        served=False,
    ),
)
