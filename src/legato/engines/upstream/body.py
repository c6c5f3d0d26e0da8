"""Raw samples from the body of an answer that does not say what it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from legato.engines.upstream.exchange import Answer
from legato.engines.upstream.faults import Fault, Kind
from legato.engines.upstream.pcm import whole_samples

_NO_PCM: Final = {
    b"RIFF": "WAV",
    b"OggS": "Ogg",
    b"fLaC": "FLAC",
    b"ID3": "MP3",
    b'{"': "JSON",
    b"<!DOCTYPE": "HTML",
    b"<html": "HTML",
}
"""First bytes of what is no raw PCM."""

_NO_SOUND: Final = ("text/", "application/json", "application/problem+json")
_CODED: Final = ("audio/mpeg", "audio/ogg", "audio/opus", "audio/flac", "audio/aac", "audio/wav")


def samples(answer: Answer) -> Iterator[bytes]:
    """Yield s16le in whole samples.

    Raises:
        Fault: If the body holds something else, breaks off, or ends within a sample.
    """
    kind = answer.media_type
    if kind.startswith(_NO_SOUND):
        said = answer.whole(1 << 16).decode("utf-8", "replace")
        raise Fault(Kind.BROKEN, f"the upstream sends {kind} instead of audio", words=told(said))
    if kind in _CODED:
        raise Fault(Kind.BROKEN, f"the upstream sends {kind}; raw PCM was asked for")
    yield from whole_samples(_checked(answer.pieces()))


def _checked(pieces: Iterator[bytes]) -> Iterator[bytes]:
    for first in pieces:
        for mark, name in _NO_PCM.items():
            if first.startswith(mark):
                raise Fault(Kind.BROKEN, f"the upstream sends {name} instead of raw PCM")
        yield first
        yield from pieces


def told(said: str) -> str:
    """Return the sentence in an error body, or all of it."""
    try:
        body = msgspec.json.decode(said)
    except msgspec.DecodeError:
        return said
    told = body
    for name in ("error", "message", "detail"):
        if isinstance(told, dict) and name in told:
            told = told[name]
    return told if isinstance(told, str) else said
