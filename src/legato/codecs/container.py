"""One audio file as FFmpeg sees it: opened safely, its frames decoded one by one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import av
from av.audio.stream import AudioStream
from av.container import InputContainer
from av.packet import Packet

from legato.codecs import riff
from legato.codecs.resample import LAYOUTS
from legato.codecs.source import Source
from legato.errors import BadAudio

OPTIONS: Final = {"protocol_whitelist": "none", "threads": "1"}
"""Playlists and session descriptions (HLS, DASH, SDP, ffconcat) may open no file and no address."""

PIPE_OPTIONS: Final = {**OPTIONS, "probesize": "32768", "analyzeduration": "200000"}
PIPE_BUFFER_BYTES: Final = 4096
"""FFmpeg's defaults (5 MB, 5 s, 32 KiB) would hold back a live pipe for seconds."""

FILE_BUFFER_BYTES: Final = 32768

MAX_CHANNELS: Final = 64
"""What FFmpeg's mixer takes."""

_DECLARES_DURATION: Final = frozenset(
    {"aiff", "au", "flac", "matroska,webm", "mov,mp4,m4a,3gp,3g2,mj2", "wv"}
)
"""Elsewhere FFmpeg derives the duration from the size of what is there."""

_TEXTS: Final[dict[str, Any]] = (
    {"metadata_errors": "replace"} if int(av.__version__.split(".")[0]) < 19 else {}
)
"""Titles that are not UTF-8 do not matter; PyAV 19 knows that by itself."""

_DAMAGE: Final = (av.FFmpegError, ArithmeticError, LookupError, ValueError)
"""What FFmpeg, and PyAV around it, raise on damaged and hostile bytes."""

_MP3_TAGS: Final = (b"Xing", b"Info", b"VBRI")
_MAGIC: Final = {
    b"RIFF": "WAV",
    b"fLaC": "FLAC",
    b"OggS": "Ogg",
    b"FORM": "AIFF",
    b"\x1aE\xdf\xa3": "Matroska or WebM",
}


@dataclass(frozen=True, slots=True)
class AudioInfo:
    """What an audio file says of itself.

    Attributes:
        container: FFmpeg's name, such as "wav" or "ogg".
        codec: FFmpeg's name, such as "pcm_s16le" or "opus".
        sample_rate: Hz, before conversion.
        channels: Before conversion.
        duration: Seconds, or None where it is not known before the end.
    """

    container: str
    codec: str
    sample_rate: int
    channels: int
    duration: float | None


class Container:
    """The best audio track of a source.

    Attributes:
        info: What the file says of itself.
        declared: Seconds that the file's header promises, or None where it makes no promise;
            unlike `info.duration` never derived from the size of what is there.
        skipped: Damaged packets left out so far.
        broken: Whether the file broke off in what was read last.

    Raises:
        BadAudio: If there is no audio that FFmpeg can decode; names the file and the cause.
    """

    def __init__(self, source: Source) -> None:
        self.skipped = 0
        self.broken = False
        self._source = source
        self._head = source.head()
        try:
            self._wav = riff.enter(source)
        except OSError as error:
            raise self._unreadable(error) from error
        self._input = self._open()
        try:
            self._stream = self._best_track()
            self.info = self._read_info()
            self.declared = self._read_declared()
        except BaseException:
            self.close()
            raise

    def frames(self) -> Iterator[av.AudioFrame]:
        """Decode frame by frame; what cannot be decoded is counted and left out.

        Raises:
            BadAudio: If the source itself cannot be read any further.
        """
        for packet in self._packets():
            try:
                frames = packet.decode()
            except _DAMAGE:
                self.skipped += bool(packet.size)
                self.broken = True
                continue
            if packet.size:
                self.broken = False
            yield from frames

    def refusal(self) -> BadAudio:
        """Return the error for a file of which nothing can be decoded; guesses why."""
        return BadAudio(f"{self._source.label}: {self._guess()}")

    def close(self) -> None:
        """Free FFmpeg's side; the source stays open."""
        self._input.close()

    def _open(self) -> InputContainer:
        try:
            if not self._source.seekable() and _mp4_needs_seeking(self._head):
                self._source.spool()
            opened = self._open_raw() or self._open_any()
        except _DAMAGE as error:
            self._raise_fault()
            raise self.refusal() from error
        except OSError as error:
            raise self._unreadable(error) from error
        self._raise_fault()
        return opened

    def _open_raw(self) -> InputContainer | None:
        if self._wav is None or (pcm := self._wav.pcm_format) is None:
            return None
        shape = {"sample_rate": str(pcm.sample_rate), "ch_layout": LAYOUTS[pcm.channels]}
        options = {**PIPE_OPTIONS, **shape}
        return av.open(self._source, "r", format="s16le", options=options, buffer_size=self._buffer)

    def _open_any(self) -> InputContainer:
        options = OPTIONS if self._source.seekable() else PIPE_OPTIONS
        opened: InputContainer = av.open(
            self._source, "r", options=options, buffer_size=self._buffer, **_TEXTS
        )
        return opened

    @property
    def _buffer(self) -> int:
        return FILE_BUFFER_BYTES if self._source.seekable() else PIPE_BUFFER_BYTES

    def _best_track(self) -> AudioStream:
        streams = self._input.streams
        stream = streams.best("audio")
        if not isinstance(stream, AudioStream):
            cause = "has no audio track"
            if streams.audio:
                cause = "declares no channels or no sample rate"
            elif len(streams):
                cause += f", only {', '.join(sorted({track.type for track in streams}))}"
            raise BadAudio(f"{self._source.label}: {cause}")
        if getattr(stream, "codec_context", None) is None:
            raise BadAudio(f"{self._source.label}: is coded in a way that FFmpeg does not know")
        if stream.codec_context.channels > MAX_CHANNELS:
            count = stream.codec_context.channels
            raise BadAudio(f"{self._source.label}: {count} channels cannot be mixed down")
        stream.codec_context.thread_count = 1
        return stream

    def _read_info(self) -> AudioInfo:
        codec = self._stream.codec_context
        return AudioInfo(
            container=self._input.format.name if self._wav is None else "wav",
            codec=codec.name,
            sample_rate=codec.sample_rate,
            channels=codec.channels,
            duration=self._read_duration(),
        )

    def _read_duration(self) -> float | None:
        if self._stream.duration is not None and self._stream.time_base is not None:
            return float(self._stream.duration * self._stream.time_base)
        if self._input.duration is not None and len(self._input.streams) == 1:
            return self._input.duration / av.time_base
        return self._wav.seconds if self._wav is not None else None

    def _read_declared(self) -> float | None:
        if self._wav is not None:
            return self._wav.seconds
        name = self._input.format.name
        tagged = name == "mp3" and any(tag in self._head for tag in _MP3_TAGS)
        return self.info.duration if tagged or name in _DECLARES_DURATION else None

    def _packets(self) -> Iterator[Packet[AudioStream]]:
        packets = self._input.demux(self._stream)
        while True:
            try:
                packet = next(packets, None)
            except IndexError:
                packet = None  # PyAV's way to end a file in which another track appeared half-way
            except _DAMAGE:
                self.broken = True
                packet = None
            if packet is None:
                break
            yield packet
        self._raise_fault()

    def _raise_fault(self) -> None:
        fault = self._source.fault
        if isinstance(fault, OSError):
            raise self._unreadable(fault) from fault
        if fault is not None:
            raise fault

    def _unreadable(self, error: OSError) -> BadAudio:
        return BadAudio(f"{self._source.label}: cannot be read: {error.strerror or error}")

    def _guess(self) -> str:
        if self._head[4:8] == b"ftyp":
            return "is an MP4 file without its index: it was cut off, or never finished"
        if self._wav is not None and not self._wav.sample_rate:
            return "declares a sample rate of 0 Hz"
        for magic, kind in _MAGIC.items():
            if self._head.startswith(magic):
                return f"begins like {kind}, but no audio could be decoded: it is cut or damaged"
        if _is_text(self._head):
            return "is text, not audio"
        return "is not audio that FFmpeg can read"


def _mp4_needs_seeking(head: bytes) -> bool:
    """Tell whether the index of an MP4 comes after its audio, so far as `head` shows."""
    at = 0
    while head[4:8] == b"ftyp" and (kind := head[at + 4 : at + 8]) != b"moov":
        size = int.from_bytes(head[at : at + 4])
        if kind == b"mdat" or size < 8 or at + size > len(head):
            return True
        at += size
    return False


def _is_text(head: bytes) -> bool:
    text = head.decode(errors="ignore")
    return len(text.encode()) >= len(head) - 3 and all(
        character.isprintable() or character in "\t\n\r\f" for character in text
    )
