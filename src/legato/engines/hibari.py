"""The default synthesizer: hibari, small English voices, a hundred times faster than real time.

One call of the network speaks one piece of text. What makes that fit for a live voice is done
here: calls are bounded, so that a cancel takes effect soon and memory stays small; the silence
that the network puts around each piece is cut short, so that the listener waits a quarter of a
second less; text that it would pass over in silence is refused.
"""

from __future__ import annotations

import hashlib
import re
import threading
import time
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from legato.audio import AudioChunk, AudioFormat, to_int16
from legato.engines.base import EngineInfo, EngineKind
from legato.engines.installation import require, version
from legato.engines.markup import letters_of, spoken, unread
from legato.engines.onnx import session, without_telemetry
from legato.engines.precedence import Precedence
from legato.errors import (
    EngineUnavailable,
    UnknownVoice,
    UnsupportedText,
)
from legato.speech import SynthesisRequest, Voice
from legato.speech.scripts import Script, is_speakable, unspeakable

FORMAT: Final = AudioFormat(24_000)

_SCRIPTS: Final = frozenset({Script.LATIN})
_SLICE: Final = FORMAT.samples(0.1)
_LONGEST: Final = 200
"""Phonemes of one call: about 10 s of speech, 80 ms and 70 MB of work."""

_QUIET: Final = 10 ** (-60 / 20)
"""RMS below which there is silence; the network's own lies below -80 dBFS."""

_STEP: Final = FORMAT.samples(0.01)
_LEAD: Final = 4
"""Steps of silence kept before the first sound, of the 15 to 30 that the network makes."""

_PAUSES: Final = ((".!?…", 35), (",;:—", 15))
"""Steps of silence kept after a piece that ends so, of about 45 that the network makes."""

_NO_PAUSE: Final = 6
_CLOSING: Final = "\"”’)]}' "
_PARTS: Final = re.compile(r"\d+|[^\W\d_]+")
"""Numbers and words within a token such as "/994" (hibari 0.2.1 passes over such numbers)."""

_LOUDNESS: Final = {"heart": -25.6}
"""LUFS of voices, measured on five sentences."""

_WARM_UP: Final = "Legato zorblax, 7:30."
"""Loads the network for unknown words too."""


class Hibari:
    """American English, voice "heart"; other voices of hibari that are on the disk.

    Args:
        parallel: Calls of the network at once, over all streams.
    """

    def __init__(self, *, parallel: int = 2) -> None:
        self.info = EngineInfo(
            name="hibari",
            kind=EngineKind.SYNTHESIZE,
            version=version("hibari-tts"),
            format=FORMAT,
            scripts=_SCRIPTS,
            languages=("en-US",),
            voices=tuple(_voices()),
            slots=32,
            deterministic=True,
            forkable=True,
            licence="Apache-2.0",
            written_out=frozenset({"en"}),
        )
        self._turns = Precedence(parallel)
        self._loading = threading.Lock()
        self._loaded: dict[str, Any] = {}

    def check(self) -> None:
        """Look for the packages without loading them.

        Raises:
            EngineUnavailable: If one is missing; names the line that adds it.
        """
        require("hibari", extra="voices")
        require("onnxruntime", extra="voices")

    def load(self) -> None:
        self.check()
        network = self._voice(self.info.voices[0].name)
        audio = to_int16(network(_WARM_UP, seed=0))
        # Another processor, runtime or FFT rounds otherwise: what sounds the same is told apart.
        rounding = hashlib.sha256(audio.tobytes()).hexdigest()[:8]
        self.info = replace(self.info, version=f"{version('hibari-tts')}+{rounding}")

    def synthesize(self, request: SynthesisRequest, text: Iterable[str]) -> Iterator[AudioChunk]:
        if not self._loaded:
            raise EngineUnavailable("hibari is not loaded yet")
        voice = self._voice(request.voice or self.info.voices[0].name)
        due = time.monotonic() + request.spare
        sample = 0
        for piece in text:
            for audio in self._speak(voice, request, piece, due):
                for start in range(0, len(audio), _SLICE):
                    pcm = audio[start : start + _SLICE].astype("<i2").tobytes()
                    yield AudioChunk(pcm, FORMAT, sample)
                    sample += len(pcm) // FORMAT.sample_bytes

    def close(self) -> None:
        self._loaded = {}

    def _voice(self, name: str) -> Any:
        known = [voice.name for voice in self.info.voices]
        if name not in known:
            raise UnknownVoice(f"hibari has no voice {name!r} here, only {', '.join(known)}")
        with self._loading:
            if name not in self._loaded:
                without_telemetry()
                from hibari import Hibari as Network

                network = Network(name, threads=1)
                # Its own session keeps 20 MB of working memory, which processes cannot share.
                network.sess = session(Path(network.model_path))
                network(_WARM_UP, seed=0)
                self._loaded[name] = network
            return self._loaded[name]

    def _speak(
        self, voice: Any, request: SynthesisRequest, piece: str, due: float
    ) -> Iterator[NDArray[np.int16]]:
        """Yield the audio of a piece, which depends on its text, voice, speed and seed alone."""
        if foreign := unspeakable(piece, _SCRIPTS) or unread(piece):
            raise UnsupportedText(f"hibari cannot speak {foreign!r}", characters=foreign)
        text = spoken(piece)
        noise = np.random.default_rng((request.seed, zlib.crc32(text.encode())))
        # All lines first: a text that is refused is refused before it is heard.
        lines = [_phonemes(voice, line) for line in text.splitlines()]
        samples = 0
        for phonemes in chain.from_iterable(map(bounded, lines)):
            with self._turns.turn(due + FORMAT.seconds(samples)):
                audio = self._call(voice, phonemes, request.speed, noise)
            samples += len(audio)
            yield to_int16(trimmed(audio, pause_after(phonemes)))
        if not samples and is_speakable(text):
            raise UnsupportedText(
                f"hibari made no sound of {text[:40]!r}", characters=letters_of(text)
            )

    def _call(
        self, voice: Any, phonemes: str, speed: float, noise: np.random.Generator
    ) -> NDArray[np.float32]:
        audio: NDArray[np.float32] = voice.from_ids(voice.ids(phonemes), speed, noise)
        return audio


def _voices() -> Iterator[Voice]:
    """Yield hibari's voices that are on the disk, the one in the package first."""
    try:
        from hibari.voices import DEFAULT, VOICES, voice_path
    except ImportError:
        yield Voice(
            name="heart",
            engine="hibari",
            languages=("en-US",),
            gender="female",
            loudness_lufs=_LOUDNESS["heart"],
        )
        return
    for name in sorted(VOICES, key=lambda name: name != DEFAULT):
        try:
            voice_path(name, download_missing=False)
        except FileNotFoundError:
            continue
        about = VOICES[name]
        yield Voice(
            name=name,
            engine="hibari",
            languages=(about["language"],),
            gender=about["gender"],
            description=f"{about['accent']} English",
            loudness_lufs=_LOUDNESS.get(name),
        )


def _phonemes(voice: Any, line: str) -> str:
    """Return the phonemes of a line.

    Raises:
        UnsupportedText: If a word has none; hibari would leave it out in silence.
    """
    from hibari.g2p.normalize import normalize

    try:
        tokens = voice.g2p.phonemize_tokens(voice.g2p.tokenize(normalize(line)))
        words = (_word(voice, token) + " " * bool(token.whitespace) for token in tokens)
        return "".join(words).strip()
    except (TypeError, ValueError, LookupError) as error:
        # It trips over some rare combinations of signs (hibari 0.2.1).
        raise UnsupportedText(
            f"hibari cannot read {line[:40]!r}", characters=letters_of(line)
        ) from error


def _word(voice: Any, token: Any) -> str:
    """Return the phonemes of a token; one that hibari finds none for is tried in parts."""
    if token.phonemes or not is_speakable(token.text):
        return str(token.phonemes or "")
    phonemes = str(voice.g2p(" ".join(_PARTS.findall(token.text))))
    if not phonemes:
        raise UnsupportedText(
            f"hibari has no sound for {token.text!r}", characters=letters_of(token.text)
        )
    return phonemes


def bounded(phonemes: str) -> Iterator[str]:
    """Cut phonemes into parts of at most 200, best after a sentence, at worst inside a word."""
    while len(phonemes) > _LONGEST:
        head = phonemes[: _LONGEST + 1]
        ends = (head.rfind(mark) + 1 for mark in (". ", "? ", "! ", "; ", ", ", " "))
        # A far better place may lie a little earlier, but not so early that parts become tiny.
        cut = next((end for end in ends if end > _LONGEST // 3), _LONGEST)
        yield phonemes[:cut].strip()
        phonemes = phonemes[cut:]
    if phonemes.strip():
        yield phonemes.strip()


def pause_after(phonemes: str) -> int:
    """Return how many 10 ms steps of silence belong after a piece."""
    last = phonemes.rstrip(_CLOSING)[-1:]
    return next((steps for marks, steps in _PAUSES if last and last in marks), _NO_PAUSE)


def trimmed(audio: NDArray[np.float32], pause: int) -> NDArray[np.float32]:
    """Return a piece with 40 ms of silence before it and at most `pause` 10 ms steps after it."""
    steps = len(audio) // _STEP
    power = np.square(audio[: steps * _STEP]).reshape(steps, _STEP).mean(axis=1)
    loud = np.flatnonzero(power > _QUIET**2)
    if not len(loud):
        return audio[: (_LEAD + pause) * _STEP]
    first, last = max(int(loud[0]) - _LEAD, 0), int(loud[-1]) + 1 + pause
    return audio[first * _STEP : last * _STEP]
