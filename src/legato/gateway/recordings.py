"""A file that somebody sends, made into the recording of a voice, or refused."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from legato.audio import MAX_CHANNELS, MAX_SAMPLE_RATE_HZ, AudioFormat
from legato.errors import BadAudio
from legato.speech.prompts import LONGEST, STORED, check, check_rate, measure

TIME_LIMIT: Final = 10.0
"""Seconds that decoding may take; 30 s of any codec take less than one."""

PADDING: Final = 0.1
"""Seconds beyond the longest that codecs put at the end of a file; they are cut off."""


@dataclass(frozen=True, slots=True)
class Recording:
    """A voice's recording.

    Attributes:
        pcm: In `STORED`.
        seconds: Its length.
    """

    pcm: bytes
    seconds: float


def read_recording(file: bytes, *, clock: Callable[[], float] = time.monotonic) -> Recording:
    """Decode and check a file of any kind that FFmpeg reads; blocks.

    What it unpacks to is bounded: decoding ends with the first packet after 30 s.

    Args:
        file: Its bytes.
        clock: Monotonic seconds.

    Raises:
        BadAudio: If it holds no audio or none that will do; names the cause and says what to do.
    """
    own, pcm = _decoded(file, clock() + TIME_LIMIT, clock)
    most = own.frame_bytes(LONGEST)
    if most < len(pcm) <= own.frame_bytes(LONGEST + PADDING):
        pcm = pcm[:most]
    check(measure(pcm, own))
    from legato.codecs.resample import Resampler  # slow to import, and most gateways never need it

    resampler = Resampler(own, STORED)
    kept = resampler.push(pcm) + resampler.flush()
    return Recording(kept, STORED.seconds(STORED.samples_in(kept)))


def _decoded(file: bytes, due: float, clock: Callable[[], float]) -> tuple[AudioFormat, bytes]:
    """Return the samples as the file has them, as far as that is a format of ours."""
    from legato.codecs.files import decode, probe  # slow to import, as above

    info = probe(io.BytesIO(file))
    check_rate(info.sample_rate)
    channels = min(max(info.channels, 1), MAX_CHANNELS)
    own = AudioFormat(min(info.sample_rate, MAX_SAMPLE_RATE_HZ), channels)
    pcm, longest = bytearray(), own.frame_bytes(LONGEST + PADDING)
    with decode(io.BytesIO(file), own, max_seconds=LONGEST + 1) as decoding:
        for chunk in decoding:
            pcm += chunk.pcm
            if len(pcm) > longest:
                break  # too long, as `check` says
            if clock() > due:
                raise BadAudio(
                    f"the recording is not decoded after {TIME_LIMIT:g} s; send it as WAV"
                )
        else:
            if decoding.warning is not None:
                raise BadAudio(f"{decoding.warning}; record or convert it again")
    return own, bytes(pcm)
