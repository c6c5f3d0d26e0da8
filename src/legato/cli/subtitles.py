"""Transcripts as subtitles: SubRip (.srt) and WebVTT (W3C, .vtt)."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

VTT_HEADER: Final = "WEBVTT\n\n"

LINE_CHARS: Final = 42
"""Characters in a line, at the most: the usual bound of subtitles (Netflix, BBC: 37 to 42)."""

CUE_LINES: Final = 2


@dataclass(frozen=True, slots=True)
class Cue:
    """A text of one or more lines and when it is shown, in seconds."""

    start: float
    end: float
    text: str


def split(cue: Cue) -> Iterator[Cue]:
    """Yield a text as cues of two lines of 42 characters at the most.

    Where one cue passes into the next is interpolated, not heard: the time of the whole is shared
    in proportion to the characters.
    """
    lines = textwrap.wrap(cue.text, LINE_CHARS)
    total = sum(map(len, lines))
    start, shown = cue.start, 0
    for first in range(0, len(lines), CUE_LINES):
        some = lines[first : first + CUE_LINES]
        shown += sum(map(len, some))
        end = cue.start + (cue.end - cue.start) * shown / total
        yield Cue(start, end, "\n".join(some))
        start = end


def srt_cue(number: int, cue: Cue) -> str:
    """Return a cue as SubRip.

    Args:
        number: Of the cue, from 1.
        cue: What to show.
    """
    return f"{number}\n{_time(cue.start, ',')} --> {_time(cue.end, ',')}\n{_lines(cue.text)}\n\n"


def vtt_cue(cue: Cue) -> str:
    """Return a cue as WebVTT; the characters that it reserves are escaped."""
    text = _lines(cue.text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return f"{_time(cue.start, '.')} --> {_time(cue.end, '.')}\n{text}\n\n"


def _lines(text: str) -> str:
    """Return `text` without its empty lines, which would end the cue."""
    return "\n".join(filter(None, (" ".join(line.split()) for line in text.splitlines())))


def _time(seconds: float, mark: str) -> str:
    millis = round(seconds * 1000)
    hours, millis = divmod(millis, 3_600_000)
    minutes, millis = divmod(millis, 60_000)
    whole, millis = divmod(millis, 1000)
    return f"{hours:02}:{minutes:02}:{whole:02}{mark}{millis:03}"
