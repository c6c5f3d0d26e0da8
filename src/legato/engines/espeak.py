"""eSpeak NG, an optional synthesizer for many languages, Mandarin among them; robotic.

GPL-3.0-or-later: the user's choice, never a default. Nothing of it is loaded before `load`. The
library comes with the package `espeakng-loader` or from the system (Debian: `espeak-ng`).
"""

from __future__ import annotations

import ctypes
import ctypes.util
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Final

from legato.audio import AudioChunk, AudioFormat
from legato.engines.base import EngineInfo, EngineKind
from legato.engines.installation import add_command, is_checkout, package_file, version
from legato.engines.markup import letters_of, spoken, unread
from legato.errors import EngineFailed, EngineUnavailable, UnknownVoice, UnsupportedText
from legato.speech import SynthesisRequest, Voice
from legato.speech.scripts import Script, is_speakable, kanji_in, runs, unspeakable

FORMAT: Final = AudioFormat(22_050)

ADD_COMMAND: Final = (
    f"{add_command('espeak')}{' or make run CHINESE=1' if is_checkout() else ''};"
    " restart a server that runs already"
)
"""What the user types to have this engine."""

_VOICES: Final = (
    # Name, language, script. The first of a script speaks it for those who ask for no language.
    ("en-us", "en-US", Script.LATIN),
    ("cmn", "zh-CN", Script.HAN),
    ("ja", "ja-JP", Script.KANA),
    ("ko", "ko-KR", Script.HANGUL),
    ("ru", "ru-RU", Script.CYRILLIC),
    ("el", "el-GR", Script.GREEK),
    ("ar", "ar", Script.ARABIC),
    ("he", "he-IL", Script.HEBREW),
    ("hi", "hi-IN", Script.DEVANAGARI),
    ("bn", "bn", Script.BENGALI),
    ("pa", "pa-IN", Script.GURMUKHI),
    ("gu", "gu-IN", Script.GUJARATI),
    ("ta", "ta-IN", Script.TAMIL),
    ("te", "te-IN", Script.TELUGU),
    ("kn", "kn-IN", Script.KANNADA),
    ("ml", "ml-IN", Script.MALAYALAM),
    ("th", "th-TH", Script.THAI),
    ("hy", "hy-AM", Script.ARMENIAN),
    ("ka", "ka-GE", Script.GEORGIAN),
    ("am", "am-ET", Script.ETHIOPIC),
    ("en", "en-GB", Script.LATIN),
    ("yue", "yue-HK", Script.HAN),
    ("uk", "uk-UA", Script.CYRILLIC),
    ("fa", "fa-IR", Script.ARABIC),
    *(
        (name, language, Script.LATIN)
        for name, language in (
            ("cs", "cs-CZ"),
            ("da", "da-DK"),
            ("de", "de-DE"),
            ("es", "es-ES"),
            ("fi", "fi-FI"),
            ("fr", "fr-FR"),
            ("hu", "hu-HU"),
            ("id", "id-ID"),
            ("it", "it-IT"),
            ("nb", "nb-NO"),
            ("nl", "nl-NL"),
            ("pl", "pl-PL"),
            ("pt-br", "pt-BR"),
            ("ro", "ro-RO"),
            ("sv", "sv-SE"),
            ("sw", "sw"),
            ("tr", "tr-TR"),
            ("vi", "vi-VN"),
        )
    ),
)
_SCRIPT_OF_VOICE: Final = {name: script for name, _, script in _VOICES}

_USUAL_LOUDNESS: Final = -20.5
_LOUDNESS: Final = {
    "en-us": -21.5,
    "cmn": -18.5,
    "ja": -21.5,
    "ru": -22.0,
    "he": -22.5,
    "bn": -19.0,
    "uk": -18.5,
    "fr": -22.5,
    "sw": -19.0,
}
"""LUFS of most voices and of those that are further from it than a dB, measured on sentences."""

_LONGEST: Final = 300
"""Characters of one call: at most 90 s of speech and 0.1 s of work."""

_SLICE: Final = FORMAT.samples(0.1)

_WORDS_PER_MINUTE: Final = 175
"""eSpeak's own rate."""

# Names and values of espeak-ng/speak_lib.h.
_AUDIO_OUTPUT_SYNCHRONOUS: Final = 2
_ESPEAK_RATE: Final = 1
_POS_CHARACTER: Final = 1
_CHARS_UTF8: Final = 1
_PHONEMES_IPA: Final = 2
_END_PAUSE: Final = 0x1000
_DONT_EXIT: Final = 0x8000
_SYSTEM_LIBRARIES: Final = ("libespeak-ng.so.1", "libespeak-ng.1.dylib", "libespeak-ng.dll")

_Callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)


class Espeak:
    """eSpeak NG in its many languages; each script is read by a voice that knows it."""

    add_command = ADD_COMMAND

    def __init__(self) -> None:
        self.info = EngineInfo(
            name="espeak",
            kind=EngineKind.SYNTHESIZE,
            version=version("espeakng-loader"),
            format=FORMAT,
            scripts=frozenset(_SCRIPT_OF_VOICE.values()),
            languages=tuple(dict.fromkeys(language for _, language, _ in _VOICES)),
            voices=tuple(
                Voice(
                    name=name,
                    engine="espeak",
                    languages=(language,),
                    description="robotic",
                    loudness_lufs=_LOUDNESS.get(name, _USUAL_LOUDNESS),
                )
                for name, language, _ in _VOICES
            ),
            slots=32,
            deterministic=False,  # its noise and flutter go on from what was spoken before
            licence="GPL-3.0-or-later",
            written_out=frozenset({"en", "zh"}),
        )
        self._library: _Library | None = None

    def check(self) -> None:
        """Look for the library without loading it.

        Raises:
            EngineUnavailable: If it is missing; names the line that adds it.
        """
        with suppress(EngineUnavailable):
            _packaged()
            return
        if ctypes.util.find_library("espeak-ng") is None:
            raise EngineUnavailable(f"eSpeak NG is not installed; add it with {ADD_COMMAND}")

    def load(self) -> None:
        self._library = library()
        self.info = replace(self.info, version=self._library.version)

    def synthesize(self, request: SynthesisRequest, text: Iterable[str]) -> Iterator[AudioChunk]:
        if self._library is None:
            raise EngineUnavailable("espeak is not loaded yet")
        chosen = voice_for(request)
        sample = 0
        for piece in text:
            for pcm in self._speak(self._library, chosen, request.speed, piece):
                for start in range(0, len(pcm), _SLICE * FORMAT.sample_bytes):
                    part = pcm[start : start + _SLICE * FORMAT.sample_bytes]
                    yield AudioChunk(part, FORMAT, sample)
                    sample += FORMAT.samples_in(part)

    def close(self) -> None:
        self._library = None

    def _speak(
        self, library: _Library, chosen: str | None, speed: float, piece: str
    ) -> Iterator[bytes]:
        foreign = unspeakable(piece, self.info.scripts) or kanji_in(piece) or unread(piece)
        if foreign:
            raise UnsupportedText(f"espeak cannot speak {foreign!r}", characters=foreign)
        parts = list(chain.from_iterable(map(bounded, runs(spoken(piece)))))
        for number, (script, part) in enumerate(parts, 1):
            if not is_speakable(part):
                continue
            fits = chosen is not None and script in (Script.COMMON, _SCRIPT_OF_VOICE[chosen])
            voice = chosen if chosen is not None and fits else _voice_of(script)
            last = number == len(parts)
            pcm = library.speak(part, voice=voice, speed=speed, pause=last)
            if not pcm:
                raise UnsupportedText(
                    f"espeak made no sound of {part[:40]!r}", characters=letters_of(part)
                )
            yield pcm


def voice_for(request: SynthesisRequest) -> str | None:
    """Return the voice that a request asks for by name or by language, None if by neither.

    Raises:
        UnknownVoice: If there is no voice of this name.
    """
    if request.voice is not None:
        if request.voice not in _SCRIPT_OF_VOICE:
            names = ", ".join(sorted(_SCRIPT_OF_VOICE))
            raise UnknownVoice(f"espeak has no voice {request.voice!r}, only {names}")
        return request.voice
    wanted = (request.language or "").lower()
    by_language = {language.lower(): name for name, language, _ in reversed(_VOICES)}
    by_primary = {language.split("-")[0].lower(): name for name, language, _ in reversed(_VOICES)}
    return by_language.get(wanted) or by_primary.get(wanted.split("-")[0])


def bounded(run: tuple[Script, str]) -> Iterator[tuple[Script, str]]:
    """Cut a run of one script into parts of at most 300 characters, at white space if possible."""
    script, text = run
    while len(text) > _LONGEST:
        cut = max(text.rfind(mark, 0, _LONGEST) + 1 for mark in " \n，。；、")
        cut = cut or _LONGEST
        yield script, text[:cut]
        text = text[cut:]
    yield script, text


def _voice_of(script: Script) -> str:
    found = (name for name, of in _SCRIPT_OF_VOICE.items() if of is script)
    return next(found, _VOICES[0][0])


def _packaged() -> tuple[Path, Path]:
    """Return the library and the data folder of the package `espeakng-loader`."""
    table = package_file("espeakng_loader", "espeak-ng-data", "phontab", extra="espeak")
    for name in ("libespeak-ng.so", "libespeak-ng.dylib", "espeak-ng.dll"):
        library = table.parent.parent / name
        if library.is_file():
            return library, table.parent
    raise EngineUnavailable("the installed espeakng-loader has no library for this system")


@lru_cache(maxsize=1)
def library() -> _Library:
    """Return the library, which has one global state for the whole process.

    Raises:
        EngineUnavailable: If there is none, or it cannot be loaded.
    """
    with suppress(EngineUnavailable):
        path, data = _packaged()
        return _Library(str(path), data)
    names = (ctypes.util.find_library("espeak-ng"), *_SYSTEM_LIBRARIES)
    for name in filter(None, names):
        with suppress(OSError):
            return _Library(name, None)
    raise EngineUnavailable(f"eSpeak NG is not installed; add it with {ADD_COMMAND}")


class _Library:
    """The shared library; calls come one at a time.

    Args:
        path: What the dynamic linker finds it by.
        data: Folder of its data, None for the one compiled in.
    """

    def __init__(self, path: str, data: Path | None) -> None:
        try:
            self._espeak = ctypes.CDLL(path)
        except OSError as error:
            raise EngineUnavailable(f"eSpeak NG cannot be loaded from {path}: {error}") from error
        self._lock = threading.Lock()
        self._sounds: list[bytes] = []
        self._espeak.espeak_Info.restype = ctypes.c_char_p
        self._espeak.espeak_SetVoiceByName.argtypes = [ctypes.c_char_p]
        self._espeak.espeak_TextToPhonemes.restype = ctypes.c_char_p
        folder = None if data is None else str(data).encode()
        rate = self._espeak.espeak_Initialize(_AUDIO_OUTPUT_SYNCHRONOUS, 0, folder, _DONT_EXIT)
        if rate != FORMAT.sample_rate:
            raise EngineUnavailable(f"eSpeak NG did not start: {rate} instead of 22050 Hz")
        self._callback = _Callback(self._keep)  # freed, it would be called all the same
        self._espeak.espeak_SetSynthCallback(self._callback)

    @property
    def version(self) -> str:
        """Version of eSpeak NG."""
        return str(self._espeak.espeak_Info(None).decode().split()[0])

    def speak(self, text: str, *, voice: str, speed: float, pause: bool) -> bytes:
        """Return the sound of a text as s16le.

        Args:
            text: Without NUL.
            voice: Name of the voice.
            speed: 1 is the voice's own rate.
            pause: Whether a pause follows, as after a sentence.

        Raises:
            EngineFailed: If eSpeak refuses.
        """
        data = text.encode("utf-8", "replace") + b"\0"
        flags = _CHARS_UTF8 | (_END_PAUSE if pause else 0)
        with self._lock:
            self._sounds = []
            if self._espeak.espeak_SetVoiceByName(voice.encode()):
                raise EngineFailed(f"this eSpeak NG ({self.version}) has no voice {voice!r}")
            self._espeak.espeak_SetParameter(_ESPEAK_RATE, round(_WORDS_PER_MINUTE * speed), 0)
            failure = self._espeak.espeak_Synth(
                data, ctypes.c_size_t(len(data)), 0, _POS_CHARACTER, 0, flags, None, None
            )
            if failure:
                raise EngineFailed(f"eSpeak NG failed with its error {failure}")
            return b"".join(self._sounds)

    def phonemes(self, text: str, *, voice: str) -> str:
        """Return the sounds of a text in IPA, with a blank between words.

        Args:
            text: Without NUL.
            voice: Name of the voice.

        Raises:
            EngineFailed: If there is no such voice.
        """
        data = ctypes.create_string_buffer(text.encode("utf-8", "replace"))
        rest = ctypes.c_void_p(ctypes.addressof(data))
        clauses = []
        with self._lock:
            if self._espeak.espeak_SetVoiceByName(voice.encode()):
                raise EngineFailed(f"this eSpeak NG ({self.version}) has no voice {voice!r}")
            while rest.value:
                clauses.append(
                    self._espeak.espeak_TextToPhonemes(
                        ctypes.byref(rest), _CHARS_UTF8, _PHONEMES_IPA
                    )
                )
        return " ".join(sounds.decode("utf-8", "replace") for sounds in clauses if sounds)

    def _keep(self, samples: int | None, count: int, _events: int | None) -> int:
        if samples and count > 0:
            self._sounds.append(ctypes.string_at(samples, count * FORMAT.sample_bytes))
        return 0
