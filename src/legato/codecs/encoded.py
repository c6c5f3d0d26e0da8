"""Files in whatever people ask for: WAV, MP3, FLAC, Ogg Opus, and bare samples."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import BinaryIO, Final

import av
from av.audio.stream import AudioStream

from legato.audio import AudioFormat, Codec
from legato.codecs.destination import Destination
from legato.codecs.g711 import law
from legato.codecs.resample import LAYOUTS
from legato.codecs.wav import WavWriter
from legato.codecs.writer import Writer
from legato.errors import UnsupportedFormat

BUFFER_BYTES: Final = 4_096
"""What FFmpeg gathers before it writes: 1 s of MP3."""


@dataclass(frozen=True, slots=True)
class FileKind:
    """A kind of file that can be written.

    Attributes:
        name: As it is asked for.
        suffixes: Of file names that mean it.
        codec: Of bare samples, or of a WAV file.
        bare: Whether it is samples without anything around.
        muxer: FFmpeg's name of the container, where FFmpeg writes it.
        encoder: FFmpeg's name of the encoder.
        bitrate: Bits a second and channel, where the encoder asks.
        rates_hz: The only rates that it has; empty for all.
        options: Of the encoder.
    """

    name: str
    suffixes: tuple[str, ...] = ()
    codec: Codec = Codec.PCM_S16LE
    bare: bool = False
    muxer: str = ""
    encoder: str = ""
    bitrate: int = 0
    rates_hz: tuple[int, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def telephony(self) -> bool:
        """Whether it is meant for 8 kHz."""
        return self.codec is not Codec.PCM_S16LE


KINDS: Final = (
    FileKind("wav", (".wav", "")),
    FileKind("wav-mulaw", codec=Codec.MULAW),
    FileKind("wav-alaw", codec=Codec.ALAW),
    FileKind(
        "mp3",
        (".mp3",),
        muxer="mp3",
        encoder="libmp3lame",
        bitrate=64_000,
        rates_hz=(8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000),
    ),
    FileKind("flac", (".flac",), muxer="flac", encoder="flac"),
    FileKind(
        "opus",
        (".opus", ".ogg"),
        muxer="ogg",
        encoder="libopus",
        bitrate=32_000,
        rates_hz=(8_000, 12_000, 16_000, 24_000, 48_000),
        options={"application": "voip"},
    ),
    FileKind("mulaw", (".ul", ".ulaw", ".mulaw"), codec=Codec.MULAW, bare=True),
    FileKind("alaw", (".al", ".alaw"), codec=Codec.ALAW, bare=True),
    FileKind("raw", (".raw", ".pcm"), bare=True),
)


def kind_named(name: str) -> FileKind:
    """Return a kind by its name.

    Raises:
        UnsupportedFormat: If there is none; says which there are.
    """
    for kind in KINDS:
        if kind.name == name:
            return kind
    raise UnsupportedFormat(
        f"no file of format {name!r} is written; there are {', '.join(k.name for k in KINDS)}"
    )


def kind_of(path: str) -> FileKind:
    """Return what the name of a file means.

    Raises:
        UnsupportedFormat: If it means nothing that is written; says what is.
    """
    suffix = PurePath(path).suffix.lower()
    for kind in KINDS:
        if suffix in kind.suffixes:
            return kind
    known = ", ".join(suffix for kind in KINDS for suffix in kind.suffixes if suffix)
    raise UnsupportedFormat(f"{path}: no file ends in {suffix}; there are {known}")


def check_rate(kind: FileKind, format: AudioFormat) -> None:  # noqa: A002  (the field's name everywhere)
    """Check that a kind of file has the rate.

    Raises:
        UnsupportedFormat: If not; says which it has.
    """
    if kind.rates_hz and format.sample_rate not in kind.rates_hz:
        rates = ", ".join(str(rate) for rate in kind.rates_hz)
        raise UnsupportedFormat(
            f"{kind.name} has no sample rate of {format.sample_rate} Hz; it has {rates}"
        )


def writer_for(
    kind: FileKind,
    target: str | os.PathLike[str] | BinaryIO,
    format: AudioFormat,  # noqa: A002  (the field's name everywhere)
) -> Writer:
    """Open a file for writing.

    Args:
        kind: Of the file.
        target: Path, or a binary stream.
        format: Of the PCM that will be written.

    Raises:
        UnsupportedFormat: If the kind has not that rate.
        OSError: As `Writer`.
    """
    check_rate(kind, format)
    if kind.muxer:
        return EncodedWriter(target, format, kind)
    if kind.bare:
        return BareWriter(target, format, codec=kind.codec)
    return WavWriter(target, format, codec=kind.codec)


class BareWriter(Writer):
    """Samples without anything around, as telephony and `aplay -t raw` take them.

    Args:
        target: Path, or a binary stream.
        format: Of the PCM.
        codec: Of the samples: PCM, mu-law or A-law.
    """

    def __init__(
        self,
        target: str | os.PathLike[str] | BinaryIO,
        format: AudioFormat,  # noqa: A002  (the field's name everywhere)
        *,
        codec: Codec = Codec.PCM_S16LE,
    ) -> None:
        self._codec = codec
        super().__init__(target, format)

    def _begin(self) -> None:
        """Nothing comes before the samples."""

    def _put(self, pcm: bytes) -> None:
        coded = pcm if self._codec is Codec.PCM_S16LE else law(self._codec).encode(pcm)
        self._destination.write(coded)

    def _end(self) -> None:
        """Nothing comes after the samples."""


class EncodedWriter(Writer):
    """What FFmpeg codes and packs.

    Args:
        target: Path, or a binary stream; MP3 and FLAC tell their length only where that can be
            written at the end.
        format: Of the PCM.
        kind: Of the file.
    """

    def __init__(
        self,
        target: str | os.PathLike[str] | BinaryIO,
        format: AudioFormat,  # noqa: A002  (the field's name everywhere)
        kind: FileKind,
    ) -> None:
        self._kind = kind
        super().__init__(target, format)

    def discard(self) -> None:
        """Give up: remove what was written to a file; a stream keeps what it got."""
        container = getattr(self, "_container", None)
        if container is not None:
            with suppress(OSError, ValueError):  # what it cannot write any more is not wanted
                container.close()
        super().discard()

    def _begin(self) -> None:
        kind, form = self._kind, self.format
        self._container = av.open(
            self._destination if self._destination.start is not None else _Pipe(self._destination),
            "w",
            format=kind.muxer,
            buffer_size=BUFFER_BYTES,
        )
        stream = self._container.add_stream(kind.encoder, rate=form.sample_rate)
        assert isinstance(stream, AudioStream)  # noqa: S101  (narrows the type)
        stream.layout = LAYOUTS[form.channels]
        if kind.bitrate:
            stream.bit_rate = kind.bitrate * form.channels
        stream.options = dict(kind.options)
        self._stream = stream

    def _put(self, pcm: bytes) -> None:
        form = self.format
        step = form.frame_bytes(1.0)
        for start in range(0, len(pcm), step):
            block = pcm[start : start + step]
            frame = av.AudioFrame("s16", LAYOUTS[form.channels], len(block) // form.sample_bytes)
            frame.sample_rate = form.sample_rate
            frame.planes[0].update(block)
            frame.pts = self.samples + start // form.sample_bytes
            self._container.mux(self._stream.encode(frame))

    def _end(self) -> None:
        self._container.mux(self._stream.encode(None))
        self._container.close()


class _Pipe:
    """A destination that FFmpeg must not try to go back in.

    Args:
        destination: Where it all goes.
    """

    def __init__(self, destination: Destination) -> None:
        self._destination = destination

    def write(self, data: bytes) -> int:
        """Append bytes."""
        return self._destination.write(data)
