"""Engines with weights and opinions, for engine processes to load."""

from __future__ import annotations

import logging
import os
import time
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace

from legato.audio import AudioChunk
from legato.engines.tone import ToneSynthesizer
from legato.speech import SynthesisRequest
from legato.telemetry.logs import logger

MIB = 1 << 20


class Heavy:
    """Speaks as `tone` does, one character higher for each `shift`; holds `weights` MiB.

    At "~" it waits for a while, in the middle of what it says.
    """

    info = replace(ToneSynthesizer.info, name="heavy", inline=False, slots=4, forkable=True)

    def __init__(self, *, weights: int = 8, shift: int = 0, load_seconds: float = 0.0) -> None:
        self._size = weights * MIB
        self._shift = shift
        self._load_seconds = load_seconds
        self._tone = ToneSynthesizer()

    def load(self) -> None:
        time.sleep(self._load_seconds)
        self._weights = bytearray(os.urandom(MIB) * (self._size // MIB))

    def close(self) -> None:
        return

    def synthesize(self, request: SynthesisRequest, text: Iterable[str]) -> Iterator[AudioChunk]:
        for piece in text:
            for character in piece:
                if character == "~":
                    time.sleep(0.3)
                shifted = chr(ord(character) + self._shift)
                yield from self._tone.synthesize(request, [shifted])


class Talkative(Heavy):
    """Logs as engines of ours do, as libraries do, and warns as Python does."""

    info = replace(Heavy.info, name="talkative")

    def load(self) -> None:
        logger("legato.engines.talkative").warning("a warning of ours", weights=3)
        logging.getLogger("library").warning("a warning of a library")
        logging.getLogger("library").info("what nobody asked for")
        warnings.warn("a warning of Python", stacklevel=1)
