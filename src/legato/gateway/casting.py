"""Which voice speaks for a name that no engine has: aliases (docs/voices.md)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from legato.bus.records import EngineRecord, VoiceRecord
from legato.errors import UnknownVoice
from legato.protocol.messages import StreamStart
from legato.speech.aliases import ALIASES, Alias, alias_of
from legato.speech.languages import primary, speaks

ANY_LANGUAGE: Final = "mul"
"""BCP 47 tag of an engine that takes any."""


@dataclass(frozen=True, slots=True)
class Part:
    """A voice that may speak for an alias.

    Attributes:
        engine: That has it.
        voice: The voice.
    """

    engine: EngineRecord
    voice: VoiceRecord

    @property
    def languages(self) -> tuple[str, ...]:
        """What it speaks."""
        return self.voice.languages or self.engine.languages


class Casting:
    """Replaces names that are not at hand by voices that are.

    Args:
        aliases: The operator's, which go before those of `legato.speech.aliases`: name to `voice`
            or `engine/voice`, or to a name of that table.
    """

    def __init__(self, aliases: Mapping[str, str] | None = None) -> None:
        self._aliases = dict(aliases or {})

    def cast(self, start: StreamStart, offered: Sequence[EngineRecord]) -> StreamStart:
        """Return `start` with a voice that is there, where the one it asks for is an alias.

        A voice of that name always wins, whatever its engine's state. Other names, and aliases for
        which nobody is ready, are left to be refused.

        Args:
            start: What is asked for.
            offered: Synthesizers, in order of preference.

        Raises:
            UnknownVoice: If an operator's alias names a voice that is not there.
        """
        if start.voice is None or start.task != "synthesize":
            return start
        among = [record for record in offered if start.engine in {None, record.name}]
        name = self._aliases.get(start.voice, start.voice)
        alias = alias_of(name)
        if _part(start.voice, among) is not None or (alias is None and name == start.voice):
            return start
        part = _part(name, among)
        if part is None and alias is None:
            raise _astray(start.voice, name, among)
        if part is None and alias is not None:
            part = _best(alias, start.language, among, named=start.engine is not None)
        if part is None:
            return msgspec.structs.replace(start, voice=None)
        return msgspec.structs.replace(start, engine=part.engine.name, voice=part.voice.name)

    def names(self, offered: Sequence[EngineRecord]) -> dict[tuple[str, str], list[str]]:
        """Return the aliases that each voice, by engine and name, speaks for.

        Left out are those whose language no voice speaks: they are given to the default engine,
        which speaks for them as for everybody.

        Args:
            offered: Synthesizers, in order of preference.
        """
        spoken: dict[tuple[str, str], list[str]] = {}
        for alias_name in dict.fromkeys((*self._aliases, *ALIASES)):
            name = self._aliases.get(alias_name, alias_name)
            part, alias = _part(name, offered), alias_of(name)
            if part is None and alias is not None:
                part = _best(alias, None, offered, named=False)
                part = part if part and speaks(part.languages, alias.language) else None
            if part is not None and _part(alias_name, offered) is None:
                key = (part.engine.name, part.voice.name)
                spoken.setdefault(key, []).append(alias_name)
        return spoken


def _part(name: str, among: Sequence[EngineRecord]) -> Part | None:
    """Return the voice that is called `voice` or `engine/voice`."""
    engine, slash, rest = name.partition("/")
    called = [Part(record, voice) for record in among for voice in record.voices]
    by_voice = (part for part in called if part.voice.name == name)
    by_engine = (p for p in called if slash and (p.engine.name, p.voice.name) == (engine, rest))
    ready = [*by_voice] or [*by_engine]
    ready.sort(key=lambda part: part.engine.state != "ready")
    return ready[0] if ready else None


def _best(
    alias: Alias, language: str | None, among: Sequence[EngineRecord], *, named: bool
) -> Part | None:
    """Return the voice that is most like what is expected.

    First who speaks the language, then who has the gender, then the default engine, then the order
    of the engines, then the region, then the order of the voices.
    """
    wanted = language or alias.language
    places = {record.name: place for place, record in enumerate(among)}

    def unlikeness(part: Part) -> tuple[bool, bool, bool, int, bool]:
        return (
            not speaks(part.languages, wanted),
            alias.gender not in {None, part.voice.gender},
            not part.engine.default,
            places[part.engine.name],
            wanted.lower() not in {tag.lower() for tag in part.languages},
        )

    return min(_parts(among, named=named), key=unlikeness, default=None)


def _parts(among: Sequence[EngineRecord], *, named: bool) -> Iterator[Part]:
    """Yield the voices that may speak for another.

    Who is worth waiting for is the default engine alone. Engines for any language, of which `tone`
    is one, speak only where they are the default or have been named.
    """
    for record in among:
        there = record.state == "ready" or (record.default and record.state == "loading")
        anything = {primary(tag) for tag in record.languages} <= {ANY_LANGUAGE}
        if there and (named or record.default or not anything):
            for voice in record.voices:
                yield Part(record, voice)


def _astray(alias: str, name: str, among: Sequence[EngineRecord]) -> UnknownVoice:
    voices = ", ".join(sorted(voice.name for record in among for voice in record.voices)) or "none"
    return UnknownVoice(
        f"gateway.voice_aliases says that {alias!r} is {name!r}, but no engine asked has such a"
        f" voice; there are: {voices}"
    )
