"""What a recognition asks for beside the plain text, and whether an engine can do it.

An engine's abilities are here the values of `legato.engines.base.Ability`, as records carry them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from legato.errors import UnsupportedOption

AUTO: Final = "auto"
"""In place of a BCP 47 tag: the engine is to find out which language is spoken."""

DETECTION: Final = "language_detection"
"""The ability that `AUTO` needs."""

SWITCHES: Final = ("punctuation", "inverse_normalization", "speakers")
"""Options of every recognition, true or false; each needs the ability of its name to be true."""

_SHOWN_CHARS: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What a client asks of a recognizer.

    Attributes:
        language: BCP 47 tag; None leaves it to the engine.
        detects: Whether the engine is asked to find the language.
        hotwords: Words to favour.
        punctuation: Whether punctuation is written; None leaves it to the engine.
        inverse_normalization: Whether numbers are written as figures; None leaves it to the engine.
        speakers: Whether it is told who spoke.
        options: Those of the engine itself.
    """

    language: str | None = None
    detects: bool = False
    hotwords: tuple[str, ...] = ()
    punctuation: bool | None = None
    inverse_normalization: bool | None = None
    speakers: bool = False
    options: Mapping[str, object] = field(default_factory=dict)

    def needs(self) -> dict[str, str]:
        """Return the abilities that the engine must have, and how each was asked for.

        What is not wanted needs none: an engine that never does it has nothing to leave out, one
        that always does it leaves it out or refuses. (Punctuation is left out of any engine's.)
        """
        asked = {
            "hotwords": ("hotwords", bool(self.hotwords)),
            "punctuation": ("options.punctuation", bool(self.punctuation)),
            "inverse_normalization": (
                "options.inverse_normalization",
                bool(self.inverse_normalization),
            ),
            "speakers": ("options.speakers", self.speakers),
            DETECTION: (f'language detection (language "{AUTO}")', self.detects),
        }
        return {ability: how for ability, (how, wanted) in asked.items() if wanted}


def wishes(language: str | None, hotwords: Iterable[str], options: Mapping[str, object]) -> Wishes:
    """Read what a client asks for.

    Args:
        language: BCP 47 tag, `AUTO` or None.
        hotwords: Words to favour.
        options: As they came; those of `SWITCHES` are taken out of them.

    Raises:
        UnsupportedOption: If one of `SWITCHES` is neither true nor false, or a hotword is empty.
    """
    words = tuple(hotwords)
    if any(not word.strip() for word in words):
        raise UnsupportedOption("a hotword is empty; hotwords are words or short phrases")
    switches = {name: _switch(name, options.get(name)) for name in SWITCHES}
    return Wishes(
        language=None if language == AUTO else language,
        detects=language == AUTO,
        hotwords=words,
        punctuation=switches["punctuation"],
        inverse_normalization=switches["inverse_normalization"],
        speakers=bool(switches["speakers"]),
        options={name: value for name, value in options.items() if name not in SWITCHES},
    )


def check(
    asked: Wishes, *, engine: str, abilities: Collection[str], able: Mapping[str, Collection[str]]
) -> None:
    """Refuse what an engine cannot do.

    Args:
        asked: By the client.
        engine: Its name.
        abilities: That it has.
        able: Abilities of the engines that could be asked instead, by name.

    Raises:
        UnsupportedOption: Names all that was asked for in vain, and the engines that have it.
    """
    missing = {need: how for need, how in asked.needs().items() if need not in abilities}
    if not missing:
        return
    others = sorted(name for name, has in able.items() if missing.keys() <= set(has))
    way = f"engines here that have: {', '.join(others)}" if others else "no engine here has"
    raise UnsupportedOption(
        f"engine {engine!r} does not have {' and '.join(missing.values())}; leave out what it"
        f" does not have ({way})"
    )


def refuse(asked: Mapping[str, object], *, engine: str, known: Iterable[str] = ()) -> None:
    """Refuse options that an engine does not know.

    Args:
        asked: Options of the engine itself, those of `SWITCHES` not among them.
        engine: Its name.
        known: Names of the options that it has.

    Raises:
        UnsupportedOption: Names the first that is unknown, and all that there are.
    """
    has = tuple(known)
    for name in asked:
        if name not in has:
            names = ", ".join((*SWITCHES, *has))
            raise UnsupportedOption(
                f"engine {engine!r} has no option {name[:_SHOWN_CHARS]!r}; there are: {names}"
            )


def refuse_words_for_numbers(inverse_normalization: bool | None, *, engine: str) -> None:
    """Refuse to write numbers as words, for an engine that writes figures by itself.

    Raises:
        UnsupportedOption: If that is what is asked.
    """
    if inverse_normalization is False:
        raise UnsupportedOption(
            f"{engine} writes numbers as it was trained to, often as figures; leave"
            " options.inverse_normalization out"
        )


def _switch(name: str, value: object) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    shown = repr(value)[:_SHOWN_CHARS]
    raise UnsupportedOption(f"options.{name} is true or false, or left out; not {shown}")
