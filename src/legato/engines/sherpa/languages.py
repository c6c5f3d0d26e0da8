"""Which languages a model speaks or writes, from what it says of itself."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from legato.engines.sherpa.directory import Model, ModelType
from legato.speech.scripts import Script, scripts_in

SENSE_VOICE: Final = ("zh", "en", "ja", "ko", "yue")

_OF_TYPE: Final[Mapping[ModelType, tuple[str, ...]]] = {
    ModelType.SENSE_VOICE: SENSE_VOICE,
    ModelType.PARAFORMER: ("zh", "en"),
    ModelType.STREAMING_PARAFORMER: ("zh", "en"),
    ModelType.MOONSHINE: ("en",),
}

_SCRIPTS: Final[Mapping[str, frozenset[Script]]] = {
    tag: frozenset(scripts)
    for tags, scripts in (
        ("zh yue", {Script.HAN, Script.LATIN}),
        ("ja", {Script.HAN, Script.KANA, Script.LATIN}),
        ("ko", {Script.HANGUL}),
        ("ru uk bg kk be mk", {Script.CYRILLIC}),
        ("sr", {Script.CYRILLIC, Script.LATIN}),
        ("el", {Script.GREEK}),
        ("ar fa ur", {Script.ARABIC}),
        ("he", {Script.HEBREW}),
        ("hi ne mr", {Script.DEVANAGARI}),
        ("bn", {Script.BENGALI}),
        ("gu", {Script.GUJARATI}),
        ("ta", {Script.TAMIL}),
        ("te", {Script.TELUGU}),
        ("kn", {Script.KANNADA}),
        ("ml", {Script.MALAYALAM}),
        ("th", {Script.THAI}),
        ("ka", {Script.GEORGIAN}),
        ("hy", {Script.ARMENIAN}),
        ("am", {Script.ETHIOPIC}),
    )
    for tag in tags.split()
}
"""Scripts of languages that are not written in Latin letters alone."""

_NAMES: Final = {
    "chinese": "zh",
    "english": "en",
    "cantonese": "yue",
    "japanese": "ja",
    "korean": "ko",
    "german": "de",
    "french": "fr",
    "spanish": "es",
    "italian": "it",
    "russian": "ru",
    "portuguese": "pt",
    "dutch": "nl",
    "polish": "pl",
    "ukrainian": "uk",
    "arabic": "ar",
    "persian": "fa",
    "vietnamese": "vi",
    "thai": "th",
}
"""Names that exports use, by their word."""

_ESPEAK: Final = {"cmn": "zh", "nb": "no"}
"""Names of eSpeak NG's voices that are no tags of the language as others write it."""


def primary(tag: str) -> str:
    """Return the language of a BCP 47 tag, in lower case."""
    return tag.partition("-")[0].lower()


def scripts(languages: Sequence[str]) -> frozenset[Script]:
    """Return the scripts of languages; none for none, which means any."""
    found = (_SCRIPTS.get(primary(tag), frozenset({Script.LATIN})) for tag in languages)
    return frozenset().union(*found)


def recognized(model: Model | None, tokens: Collection[str]) -> tuple[str, ...]:
    """Return the languages that a recognizer writes; none where that cannot be told."""
    if model is None:
        return ()
    if model.type is ModelType.WHISPER:
        return ("en",) if ".en-" in model.files["encoder"].name else ()
    if model.type in _OF_TYPE:
        return _OF_TYPE[model.type]
    used = scripts_in("".join(token for token in tokens if not token.startswith("<")))
    found = [tag for tag, script in (("zh", Script.HAN), ("en", Script.LATIN)) if script in used]
    return tuple(found)


def spoken(metadata: Mapping[str, str]) -> tuple[str, ...]:
    """Return the languages that a voice speaks; English where it says nothing."""
    named = metadata.get("language", "").lower().replace("+", " ").replace(",", " ").split()
    found = [_NAMES[word] for word in named if word in _NAMES]
    voice = primary(metadata.get("voice", ""))
    if not found and voice.isalpha():
        found = [_ESPEAK.get(voice, voice)]
    return tuple(dict.fromkeys(found)) or ("en",)
