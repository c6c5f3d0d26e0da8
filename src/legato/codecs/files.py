"""Any audio that FFmpeg reads, decoded piece by piece into PCM."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from types import TracebackType
from typing import BinaryIO, Final, Self

import av
import numpy as np

from legato.audio import AudioChunk, AudioFormat, mix_channels
from legato.codecs.container import AudioInfo, Container
from legato.codecs.resample import MAX_KNOWN_LAYOUT_CHANNELS, SwrGraph
from legato.codecs.source import Source
from legato.errors import BadAudio

MAX_SECONDS: Final = 12 * 3600.0
"""What one file may unpack to, unless the caller sets another bound."""

CHUNK: Final = 0.1
"""Seconds of audio in a chunk."""

MIN_RATE_HZ: Final = 1_000
MAX_RATE_HZ: Final = 768_000
"""Rates outside are mistakes or attacks: at 1 Hz, a second's worth of bytes unpacks to hours."""

_SLACK: Final = 0.1
_SLACK_RATIO: Final = 0.005
"""Codec delay and rounding make up to this difference between declared and decoded seconds."""


def probe(source: str | os.PathLike[str] | BinaryIO) -> AudioInfo:
    """Look at a file without decoding it; of a pipe this takes the beginning away.

    Raises:
        BadAudio: If it cannot be read or holds no audio; names the file and the cause.
    """
    with decode(source, AudioFormat(16_000)) as decoding:
        return decoding.info


def decode(
    source: str | os.PathLike[str] | BinaryIO,
    format: AudioFormat,  # noqa: A002  (the field's name everywhere)
    *,
    max_seconds: float = MAX_SECONDS,
) -> Decoding:
    """Open audio of any kind, to be converted to `format` while it is read.

    Args:
        source: Path, or a binary stream, which need not be seekable and stays open.
        format: Wanted; more channels are mixed down, one is doubled.
        max_seconds: What would come after so many seconds is refused.

    Raises:
        BadAudio: If it cannot be read or holds no audio; names the file and the cause.
    """
    return Decoding(Source(source), format, max_seconds=max_seconds)


class Decoding(Iterator[AudioChunk]):
    """Audio as it is decoded: an iterator of chunks that also knows how well it went.

    Of a file that is cut or damaged, all that can be decoded comes out; `truncated`, `skipped` and
    `warning` say what is missing. Its end, an error, or closing it, closes the file.

    Attributes:
        info: What the file says of itself.
        format: Of the chunks, which are of 100 ms; the last one may be shorter.
        truncated: Whether the file breaks off before its own end; known once all is decoded.

    Raises:
        BadAudio: From the iterator: if not one sample could be decoded, if reading fails half-way,
            and after `max_seconds`.
    """

    def __init__(
        self,
        source: Source,
        format: AudioFormat,  # noqa: A002  (the field's name everywhere)
        *,
        max_seconds: float,
    ) -> None:
        self.format = format
        self.truncated = False
        self._label = source.label
        self._source = source
        self._most_samples = format.samples(max_seconds)
        self._samples = 0
        try:
            self._container = Container(source)
        except BaseException:
            source.close()
            raise
        self.info = self._container.info
        self._chunks = self._run()

    @property
    def seconds(self) -> float:
        """Decoded so far."""
        return self.format.seconds(self._samples)

    @property
    def skipped(self) -> int:
        """Damaged packets left out so far."""
        return self._container.skipped

    @property
    def warning(self) -> str | None:
        """A sentence for a person on what is missing, or None if nothing is."""
        if self.truncated:
            declared = self._container.declared
            whole = f" of {declared:.1f} s" if declared is not None else ""
            return f"{self._label}: is cut off; {self.seconds:.1f} s{whole} could be read"
        if self.skipped:
            return f"{self._label}: is damaged; {self.skipped} packets could not be decoded"
        return None

    def __next__(self) -> AudioChunk:
        return next(self._chunks)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the iterator and close the file; a stream that was given stays open."""
        self._chunks.close()
        self._free()

    def _run(self) -> Generator[AudioChunk, None, None]:
        pcm = bytearray()
        size = self.format.frame_bytes(CHUNK)
        try:
            for data in self._pcm():
                pcm += data
                while len(pcm) >= size:
                    yield self._chunk(bytes(pcm[:size]))
                    del pcm[:size]
            if pcm:
                yield self._chunk(bytes(pcm))
            self._conclude()
        finally:
            self._free()

    def _pcm(self) -> Iterator[bytes]:
        converter = FrameConverter(self._label, self.format)
        for frame in self._container.frames():
            yield converter.push(frame)
        yield converter.end()

    def _chunk(self, pcm: bytes) -> AudioChunk:
        chunk = AudioChunk(pcm, self.format, sample=self._samples)
        self._samples += chunk.samples
        if self._samples > self._most_samples:
            most = self.format.seconds(self._most_samples)
            raise BadAudio(f"{self._label}: is longer than {most:g} s, the most that is taken")
        return chunk

    def _conclude(self) -> None:
        declared = self._container.declared
        if not self._samples:
            if declared or self._container.broken:
                raise self._container.refusal()
            raise BadAudio(f"{self._label}: has no audio in it (0 samples)")
        if declared is None:
            self.truncated = self._container.broken
        else:
            slack = max(_SLACK, _SLACK_RATIO * declared)
            self.truncated = self.seconds < declared - slack

    def _free(self) -> None:
        self._container.close()
        self._source.close()


class FrameConverter:
    """Turns decoded frames of any kind, which may change half-way, into PCM of one format.

    Args:
        label: Name of the file, for errors.
        target: Format of the PCM.
    """

    def __init__(self, label: str, target: AudioFormat) -> None:
        self._label = label
        self._target = target
        self._kind: tuple[str, str, int] | None = None
        self._graph: SwrGraph | None = None
        self._channels = 1

    def push(self, frame: av.AudioFrame) -> bytes:
        """Return what can be converted so far.

        Raises:
            BadAudio: If the frame declares what no audio has.
        """
        kind = (frame.format.name, frame.layout.name, frame.sample_rate)
        before = b""
        if kind != self._kind or self._graph is None:
            before = self.end()
            self._graph = self._build(frame)
            self._kind = kind
        pcm = self._graph.push(_finite(frame))
        return before + mix_channels(pcm, self._channels, self._target.channels)

    def end(self) -> bytes:
        """Return what was held back."""
        if self._graph is None:
            return b""
        pcm = self._graph.end()
        self._graph = None
        return mix_channels(pcm, self._channels, self._target.channels)

    def _build(self, frame: av.AudioFrame) -> SwrGraph:
        if not MIN_RATE_HZ <= frame.sample_rate <= MAX_RATE_HZ:
            raise BadAudio(f"{self._label}: declares a sample rate of {frame.sample_rate} Hz")
        count = frame.layout.nb_channels
        self._channels = min(count, self._target.channels)  # swr would lower mono by 3 dB
        if count > MAX_KNOWN_LAYOUT_CHANNELS:
            self._channels = 1
        try:
            return SwrGraph(
                sample_format=frame.format.name,
                layout=frame.layout.name,
                source_hz=frame.sample_rate,
                target_hz=self._target.sample_rate,
                channels=self._channels,
            )
        except av.FFmpegError as error:
            raise BadAudio(f"{self._label}: {count} channels cannot be mixed down") from error


def _finite(frame: av.AudioFrame) -> av.AudioFrame:
    """Replace NaN and infinities, which a filter would spread, in place."""
    if not frame.format.name.startswith(("flt", "dbl")):
        return frame
    samples = frame.to_ndarray()
    if np.isfinite(samples).all():
        return frame
    clean = np.nan_to_num(samples, nan=0.0, posinf=1.0, neginf=-1.0)
    for plane, row in zip(frame.planes, clean, strict=True):
        memoryview(plane)[: row.nbytes] = row.tobytes()
    return frame
