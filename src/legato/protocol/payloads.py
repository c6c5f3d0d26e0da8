"""What the payload of an audio frame holds: samples, or a packet that says how long it is."""

from __future__ import annotations

from typing import Final

from legato.audio import Codec, PayloadFormat
from legato.errors import BadAudio, MalformedMessage
from legato.protocol.streams import StreamStart

BITRATE: Final = "bitrate"
"""The option that says how many bits a second of Opus may take."""

DEFAULT_BITRATE: Final = 24_000
"""Bits a second: speech of full band at the quality of a good call (RFC 7587, section 3.1.1)."""

MIN_BITRATE: Final = 6_000
MAX_BITRATE: Final = 256_000

_SILK_US: Final = (10_000, 20_000, 40_000, 60_000)
_HYBRID_US: Final = (10_000, 20_000)
_CELT_US: Final = (2_500, 5_000, 10_000, 20_000)
_FIRST_HYBRID: Final = 12
_FIRST_CELT: Final = 16
_ANY_COUNT: Final = 3
_MAX_US: Final = 120_000
"""RFC 6716, section 3.4, R5: no packet is longer."""


def payload_format(start: StreamStart) -> PayloadFormat:
    """Return what the audio frames of a stream hold, either way.

    Raises:
        UnsupportedFormat: If rate or channels are outside their range.
        ValueError: If there is no such codec; `check_start` refuses it.
    """
    return PayloadFormat(start.sample_rate, start.channels, Codec(start.codec), start.frame_ms)


def bitrate_of(start: StreamStart) -> int:
    """Return the bits a second that a stream's Opus encoder aims at.

    Raises:
        MalformedMessage: If it is of Opus, and `options.bitrate` is no such number.
    """
    if start.codec != Codec.OPUS:
        return DEFAULT_BITRATE
    return check_bitrate(start.options.get(BITRATE, DEFAULT_BITRATE))


def check_bitrate(value: object) -> int:
    """Return a bitrate that an Opus encoder can aim at.

    Raises:
        MalformedMessage: If `value` is none.
    """
    if type(value) is not int or not MIN_BITRATE <= value <= MAX_BITRATE:
        raise MalformedMessage(
            f"options.bitrate is bits a second, {MIN_BITRATE} to {MAX_BITRATE}, of opus"
        )
    return value


def duration_us(packet: bytes) -> int:
    """Return the microseconds of audio in an Opus packet (RFC 6716, section 3.1).

    Raises:
        BadAudio: If it is no Opus packet.
    """
    if not packet:
        raise BadAudio("an Opus packet has one byte at least")
    config, code = packet[0] >> 3, packet[0] & 3
    if config < _FIRST_HYBRID:
        frame = _SILK_US[config % 4]
    elif config < _FIRST_CELT:
        frame = _HYBRID_US[config % 2]
    else:
        frame = _CELT_US[config % 4]
    if code != _ANY_COUNT:
        return frame * (1 if code == 0 else 2)
    count = packet[1] & 0x3F if len(packet) > 1 else 0
    if not 0 < count * frame <= _MAX_US:
        raise BadAudio(f"an Opus packet declares {count} frames of {frame / 1000:g} ms")
    return frame * count


def check_packet(payload: bytes, format: PayloadFormat) -> None:  # noqa: A002  (the field's name everywhere)
    """Check that a payload of Opus is one packet of the declared length, or empty.

    Raises:
        BadAudio: If it is not.
    """
    if not payload:
        return
    length = duration_us(payload)
    if length != 1000 * format.frame_ms:
        raise BadAudio(
            f"an Opus packet holds {length / 1000:g} ms; frame_ms {format.frame_ms} was declared"
        )
