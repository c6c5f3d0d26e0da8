"""Audio files made for the tests: signals, good containers, hostile ones, and a pipe."""

import io
import struct
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, cast

import av
import numpy as np
from numpy.typing import NDArray


def tone(frequency_hz: float, rate_hz: int, seconds: float, peak: float = 12_000) -> bytes:
    """A sine as mono s16le."""
    at = np.arange(round(seconds * rate_hz)) / rate_hz
    return np.rint(peak * np.sin(2 * np.pi * frequency_hz * at)).astype("<i2").tobytes()


def noise(samples: int, seed: int = 1, channels: int = 1) -> bytes:
    """Every value equally likely, so that nothing about a sample can be guessed."""
    drawn = np.random.default_rng(seed).integers(-32768, 32768, samples * channels)
    return drawn.astype("<i2").tobytes()


def int16(pcm: bytes) -> NDArray[np.int64]:
    return np.frombuffer(pcm, "<i2").astype(np.int64)


def encoded(
    container: str,
    codec: str,
    rate_hz: int = 16_000,
    seconds: float = 2.0,
    layout: str = "mono",
    **options: str,
) -> bytes:
    """A 440 Hz tone in any container and codec that FFmpeg writes."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "file")
        with av.open(str(path), "w", format=container, options=options) as output:
            stream = output.add_stream(codec, rate=rate_hz, layout=layout)
            assert isinstance(stream, av.AudioStream)
            mono = np.frombuffer(tone(440, rate_hz, seconds), "<i2")
            wide = np.repeat(mono, stream.codec_context.channels).reshape(1, -1)
            frame = av.AudioFrame.from_ndarray(wide, "s16", layout)
            frame.sample_rate, frame.time_base, frame.pts = rate_hz, Fraction(1, rate_hz), 0
            shape = av.AudioResampler(
                stream.format, layout, rate_hz, frame_size=stream.frame_size or 1024
            )
            for piece in [*shape.resample(frame), *shape.resample(None)]:
                output.mux(stream.encode(piece))
            output.mux(stream.encode(None))
        return path.read_bytes()


def film(container: str = "mp4", *, sound: bool = False) -> bytes:
    """Two seconds of pictures; with sound, half a second of it."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "film")
        with av.open(str(path), "w", format=container) as output:
            pictures = output.add_stream("mpeg4", rate=25)
            assert isinstance(pictures, av.VideoStream)
            pictures.width = pictures.height = 64
            if sound:
                track = output.add_stream("aac", rate=16_000, layout="mono")
                assert isinstance(track, av.AudioStream)
                for at in range(0, 8_000, 1_024):
                    frame = av.AudioFrame("fltp", "mono", 1_024)
                    frame.planes[0].update(np.full(1_024, 0.5, "<f4").tobytes())
                    frame.sample_rate, frame.pts = 16_000, at
                    output.mux(track.encode(frame))
                output.mux(track.encode(None))
            for _ in range(50):
                output.mux(pictures.encode(av.VideoFrame(64, 64, "yuv420p")))
            output.mux(pictures.encode(None))
        return path.read_bytes()


def picture() -> bytes:
    """A PNG of 16 by 16 pixels."""
    context = av.VideoCodecContext.create("png", "w")
    context.width = context.height = 16
    context.pix_fmt, context.time_base = "rgb24", Fraction(1, 25)
    black = av.VideoFrame.from_ndarray(np.zeros((16, 16, 3), np.uint8), format="rgb24")
    packets = [*context.encode(black), *context.encode(None)]
    return b"".join(bytes(packet) for packet in packets)


def riff(
    data: bytes,
    *,
    rate_hz: int = 16_000,
    channels: int = 1,
    bits: int = 16,
    tag: int = 1,
    block_bytes: int | None = None,
    declared_bytes: int | None = None,
) -> bytes:
    """A WAV file whose header says whatever it is told to."""
    block = channels * bits // 8 if block_bytes is None else block_bytes
    byte_rate = min(rate_hz * block, 2**32 - 1)
    size = len(data) if declared_bytes is None else declared_bytes
    fmt = struct.pack("<HHIIHH", tag, channels, rate_hz, byte_rate, block & 0xFFFF, bits)
    chunks = b"fmt " + struct.pack("<I", len(fmt)) + fmt + b"data" + struct.pack("<I", size) + data
    return b"RIFF" + struct.pack("<I", min(size + 36, 2**32 - 1)) + b"WAVE" + chunks


def id3(size: int, *, footer: bool = False) -> bytes:
    """An ID3v2.4 tag of `size` bytes of padding."""
    syncsafe = bytes(size >> shift & 0x7F for shift in (21, 14, 7, 0))
    flags = b"\x10" if footer else b"\0"
    return b"ID3\4\0" + flags + syncsafe + bytes(size) + (b"3DI" + bytes(7) if footer else b"")


class Pipe(io.RawIOBase):
    """Bytes that can be read once, forwards, a little at a time; counts what was taken."""

    def __init__(self, data: bytes, step: int = 1024, fault: BaseException | None = None) -> None:
        self._data = memoryview(data)
        self._step = step
        self._fault = fault
        self.taken = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        end = self.taken + (min(size, self._step) if size >= 0 else self._step)
        data = bytes(self._data[self.taken : end])
        if not data and self._fault is not None:
            raise self._fault
        self.taken += len(data)
        return data


def as_binary(raw: io.RawIOBase) -> BinaryIO:
    """Tell the type checker what it cannot see: that an unbuffered stream is one, too."""
    return cast("BinaryIO", raw)
