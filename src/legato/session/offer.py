"""What a stream may be: the checks of `stream_start` that need no engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from legato.audio import AudioFormat, Codec
from legato.errors import MalformedMessage, UnsupportedFormat
from legato.protocol.identifiers import check_stream_id
from legato.protocol.messages import EndpointingSettings, StreamStart
from legato.protocol.payloads import BITRATE, check_bitrate

CODECS: Final = tuple(codec.value for codec in Codec)
OPUS_RATES_HZ: Final = (8_000, 12_000, 16_000, 24_000, 48_000)
OPUS_FRAMES_MS: Final = (10, 20, 40, 60)
TASKS: Final = ("synthesize", "recognize", "echo")
FRAMINGS: Final = ("protobuf", "raw")
MIN_FRAME_MS: Final = 10
MAX_FRAME_MS: Final = 200
MIN_SPEED: Final = 0.5
MAX_SPEED: Final = 2.0
MAX_HOTWORDS: Final = 1000
MAX_NAME_CHARS: Final = 128
MIN_SILENCE: Final = 0.1
MAX_SILENCE: Final = 10.0
SHOWN_CHARS: Final = 40


def check_start(start: StreamStart) -> AudioFormat:
    """Return the format that `start` declares.

    Raises:
        MalformedMessage: If a field has a value that no server could serve.
        UnsupportedFormat: If codec, rate, channels or frame length cannot be served.
    """
    check_stream_id(start.stream_id)
    if start.task not in TASKS:
        raise MalformedMessage(
            f"task {_shown(start.task)} is unknown; use one of {', '.join(TASKS)}"
        )
    if start.framing not in FRAMINGS:
        raise MalformedMessage(
            f"framing {_shown(start.framing)} is unknown; use one of {', '.join(FRAMINGS)}"
        )
    _check_codec(start)
    if not MIN_FRAME_MS <= start.frame_ms <= MAX_FRAME_MS:
        raise UnsupportedFormat(
            f"frame_ms {start.frame_ms} is outside {MIN_FRAME_MS} to {MAX_FRAME_MS}"
        )
    if not MIN_SPEED <= start.speed <= MAX_SPEED:
        raise MalformedMessage(f"speed {start.speed} is outside {MIN_SPEED} to {MAX_SPEED}")
    _check_names(start)
    _check_continuation(start)
    _check_endpointing(start.endpointing)
    return AudioFormat(start.sample_rate, start.channels)


def _check_codec(start: StreamStart) -> None:
    if start.codec not in CODECS:
        raise UnsupportedFormat(
            f"codec {_shown(start.codec)} is not served here; use one of {', '.join(CODECS)}"
        )
    if start.framing == "raw" and start.codec != Codec.PCM_S16LE:
        raise UnsupportedFormat(
            f"raw framing is bare pcm_s16le; for {start.codec} leave framing at protobuf"
        )
    if start.codec == Codec.OPUS:
        _check_opus(start)


def _check_opus(start: StreamStart) -> None:
    if start.sample_rate not in OPUS_RATES_HZ:
        raise UnsupportedFormat(
            f"opus has no sample_rate of {start.sample_rate} Hz; use one of"
            f" {_listed(OPUS_RATES_HZ)}"
        )
    if start.frame_ms not in OPUS_FRAMES_MS:
        raise UnsupportedFormat(
            f"opus has no packet of {start.frame_ms} ms; frame_ms is one of"
            f" {_listed(OPUS_FRAMES_MS)}"
        )
    if BITRATE in start.options:
        check_bitrate(start.options[BITRATE])


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(str(number) for number in numbers)


def _check_names(start: StreamStart) -> None:
    if len(start.hotwords) > MAX_HOTWORDS:
        raise MalformedMessage(f"{len(start.hotwords)} hotwords are more than {MAX_HOTWORDS}")
    names = [("engine", start.engine), ("voice", start.voice), ("language", start.language)]
    for what, name in names + [("a hotword", hotword) for hotword in start.hotwords]:
        if name is not None and len(name) > MAX_NAME_CHARS:
            raise MalformedMessage(f"{what} has {len(name)} characters, more than {MAX_NAME_CHARS}")


def _check_continuation(start: StreamStart) -> None:
    where = start.continues
    if where is None:
        return
    if start.framing == "raw":
        raise MalformedMessage("a raw stream has no next epoch; start it without continues")
    if where.received_upto < where.utterance_sample:
        raise MalformedMessage("continues.received_upto lies before continues.utterance_sample")


def _check_endpointing(settings: EndpointingSettings | None) -> None:
    if settings is None:
        return
    silence = settings.silence
    if silence is not None and not MIN_SILENCE <= silence <= MAX_SILENCE:
        raise MalformedMessage(
            f"endpointing.silence {silence} is outside {MIN_SILENCE:g} to {MAX_SILENCE:g} s"
        )
    if not 0.0 < settings.threshold < 1.0:
        raise MalformedMessage(f"endpointing.threshold {settings.threshold} is outside 0 to 1")


def _shown(value: str) -> str:
    return repr(value[:SHOWN_CHARS])
