"""A second of speech in each codec: bytes on the wire, and the CPU that both ends take."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import thread_time_ns
from typing import Any

from legato.audio import Codec, PayloadFormat
from legato.bench.benchmark import Benchmark, Setup
from legato.bench.clips import LIBRIVOX, NO_LIBRIVOX, SAMPLE_RATE, librivox
from legato.bench.row import Figure, Row
from legato.codecs.g711 import law
from legato.codecs.opus import OpusDecoder, OpusEncoder
from legato.codecs.resample import Resampler
from legato.protocol.media import AudioFrame, encode_frame
from legato.protocol.payloads import DEFAULT_BITRATE

RUNS = 7
FRAME_MS = 20
WEBSOCKET_BYTES = 4
"""Header of a WebSocket message above 125 bytes; 2 below."""

SHORT_MESSAGE_BYTES = 125

FORMATS = (
    PayloadFormat(SAMPLE_RATE, 1, Codec.PCM_S16LE, FRAME_MS),
    PayloadFormat(SAMPLE_RATE, 1, Codec.OPUS, FRAME_MS),
    PayloadFormat(24_000, 1, Codec.PCM_S16LE, FRAME_MS),
    PayloadFormat(24_000, 1, Codec.OPUS, FRAME_MS),
    PayloadFormat(8_000, 1, Codec.MULAW, FRAME_MS),
)


def name_of(form: PayloadFormat) -> str:
    """Return what a figure of this format is called."""
    return f"{form.codec.value}.{form.sample_rate}"


BYTES = {form: Figure(f"wire.codec.bytes.{name_of(form)}", "B") for form in FORMATS}
ENCODE = {
    form: Figure(f"wire.codec.encode.{name_of(form)}", "us")
    for form in FORMATS
    if form.codec is not Codec.PCM_S16LE
}
DECODE = {form: Figure(f"wire.codec.decode.{name_of(form)}", "us") for form in ENCODE}
FIGURES = (*BYTES.values(), *ENCODE.values(), *DECODE.values())


@dataclass(frozen=True, slots=True)
class Coded:
    """Speech in one codec.

    Attributes:
        payloads: Of the frames.
        encode_us: CPU for one frame of 20 ms.
        decode_us: The same on the other side.
    """

    payloads: Sequence[bytes]
    encode_us: float
    decode_us: float


async def measure(setup: Setup) -> list[Row]:
    """Code and decode clips of speech."""
    return await measure_clips(setup, LIBRIVOX)


async def measure_clips(setup: Setup, folder: Path) -> list[Row]:
    """Code and decode the clips of a folder in this thread, codec by codec."""
    try:
        clips = await asyncio.to_thread(librivox, folder)
    except FileNotFoundError:
        return [figure.missing(NO_LIBRIVOX) for figure in FIGURES]
    clip = b"".join(clip.pcm for clip in clips)
    rows = []
    for form in FORMATS:
        setup.tell(name_of(form))
        resampler = Resampler(PayloadFormat(SAMPLE_RATE).pcm, form.pcm)
        pcm = resampler.push(clip) + resampler.flush()
        runs = [code(form, pcm) for _ in range(setup.times(RUNS))]
        seconds = form.seconds(form.pcm.samples_in(pcm))
        rows += _rows(form, runs, seconds)
    return rows


def code(form: PayloadFormat, pcm: bytes) -> Coded:
    """Code `pcm` frame by frame and decode it again."""
    size = form.frame_samples * form.pcm.sample_bytes
    frames = [pcm[at : at + size] for at in range(0, len(pcm), size)]
    encode, decode, finish = _functions(form)
    began = thread_time_ns()
    payloads = [payload for frame in frames for payload in encode(frame)] + finish()
    encoded = thread_time_ns()
    for payload in payloads:
        decode(payload)
    decoded = thread_time_ns()
    return Coded(
        payloads,
        (encoded - began) / len(frames) / 1e3,
        (decoded - encoded) / len(frames) / 1e3,
    )


def _functions(
    form: PayloadFormat,
) -> tuple[Callable[[bytes], list[bytes]], Callable[[bytes], Any], Callable[[], list[bytes]]]:
    if form.codec is Codec.OPUS:
        encoder = OpusEncoder(form, DEFAULT_BITRATE)
        return encoder.push, OpusDecoder(form).decode, encoder.finish
    if form.codec is Codec.PCM_S16LE:
        return lambda pcm: [pcm], bytes, list
    table = law(form.codec)
    return lambda pcm: [table.encode(pcm)], table.decode, list


def _rows(form: PayloadFormat, runs: Sequence[Coded], seconds: float) -> list[Row]:
    payloads = runs[0].payloads
    sent = sum(map(_message_bytes, payloads)) / seconds
    logged = sum(map(len, payloads)) / seconds
    note = f"a second, with protobuf and WebSocket; the log holds {logged:.0f} B of payload"
    if form.codec is Codec.PCM_S16LE:
        return [BYTES[form].row(round(sent), note=note)]
    aim = f", {DEFAULT_BITRATE // 1000} kbit/s" if form.codec is Codec.OPUS else ""
    return [
        BYTES[form].row(round(sent), note=note),
        ENCODE[form].of([run.encode_us for run in runs], note=f"a frame of {FRAME_MS} ms{aim}"),
        DECODE[form].of([run.decode_us for run in runs], note="the same frame, in the client"),
    ]


def _message_bytes(payload: bytes) -> int:
    size = len(encode_frame(AudioFrame(payload, 500, sample=160_000), 1, 0))
    return size + (WEBSOCKET_BYTES if size > SHORT_MESSAGE_BYTES else 2)


BENCHMARKS = (
    Benchmark(
        name="wire.codec",
        about="A second of speech in each codec: bytes on the wire, and the CPU of both ends.",
        figures=FIGURES,
        run=measure,
        served=False,
    ),
)
