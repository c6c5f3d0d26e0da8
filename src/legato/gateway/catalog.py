"""What the workers offer, read from the bus: engines, voices, and the choice for a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from legato.bus.base import Record, Registry
from legato.bus.records import ENGINE_KIND, TENANT, EngineRecord, decode_engine
from legato.errors import EngineUnavailable, UnknownEngine, UnknownVoice, UnsupportedOption
from legato.gateway.abilities import check_abilities, detects
from legato.gateway.casting import ANY_LANGUAGE, Casting
from legato.protocol.messages import StreamStart
from legato.speech.languages import speaks
from legato.telemetry.logs import logger

log = logger(__name__)

ECHO: Final = "echo"
"""Task and engine that sends audio back as it came."""

FRESH: Final = 1.0
"""Seconds that a reading of the registry is used."""

LOADING_RETRY: Final = 1.0
"""Seconds after which an engine that loads may be asked for again."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Who does a stream.

    Attributes:
        engine: Name of the engine.
        voice: Name of the voice, for synthesis.
    """

    engine: str
    voice: str | None


class Catalog:
    """Reads engine records at most once a second.

    Args:
        registry: Of the bus.
        clock: Returns monotonic seconds.
        aliases: The operator's names for voices.
    """

    def __init__(
        self,
        registry: Registry,
        clock: Callable[[], float],
        aliases: Mapping[str, str] | None = None,
    ) -> None:
        self._casting = Casting(aliases)
        self._registry = registry
        self._clock = clock
        self._records: list[EngineRecord] = []
        self._read_at = float("-inf")

    async def engines(self, *, fresh: bool = False) -> list[EngineRecord]:
        """Return all engines that workers know, those that cannot run included.

        Raises:
            BusUnavailable: If the registry cannot be read.
        """
        now = self._clock()
        if fresh or now >= self._read_at + FRESH:
            records = await self._registry.list(TENANT, ENGINE_KIND)
            self._records = list(_decoded(records.values()))
            self._read_at = now
        return self._records

    async def choose(self, start: StreamStart) -> Choice:
        """Choose engine and voice for a stream.

        Raises:
            UnknownEngine: If no worker has the engine asked for, or none understands the language.
            UnknownVoice: If no engine has the voice asked for, or none speaks the language.
            UnsupportedOption: If the engine cannot do something that is asked of a recognition.
            EngineUnavailable: If it cannot run, or no worker is there (yet).
            BusUnavailable: If the registry cannot be read.
        """
        if start.task == ECHO:
            if start.engine not in {None, ECHO}:
                raise UnknownEngine(f"an echo has no engine {start.engine!r}; leave engine out")
            return Choice(ECHO, None)
        try:
            return self._chosen(start, await self.engines())
        except (UnknownEngine, UnknownVoice, UnsupportedOption, EngineUnavailable):
            return self._chosen(start, await self.engines(fresh=True))

    async def aliases(self) -> dict[tuple[str, str], list[str]]:
        """Return the names from elsewhere that each voice, by engine and name, speaks for.

        Raises:
            BusUnavailable: If the registry cannot be read.
        """
        return self._casting.names(_offered("synthesize", await self.engines()))

    def _chosen(self, start: StreamStart, records: list[EngineRecord]) -> Choice:
        offered = _offered(start.task, records)
        return _choose(self._casting.cast(start, offered), offered)

    async def fault(self) -> str | None:
        """Return why no clients may be sent here, or None.

        What counts are the engines that are chosen by themselves: one of them can be used, and
        none is still loading. Where none is chosen by itself, any engine will do.

        Raises:
            BusUnavailable: If the registry cannot be read.
        """
        records = await self.engines()
        chosen = [record for record in records if record.default] or records
        states = {record.state for record in chosen}
        if not states or "loading" in states:
            return "engines are loading"
        return None if "ready" in states else "no engine can be used"


def _decoded(records: Iterable[Record]) -> Iterator[EngineRecord]:
    for record in records:
        try:
            yield decode_engine(record.value)
        except msgspec.ValidationError:
            log.warning("an engine's record cannot be read")  # a worker of another version


def _offered(task: str, records: list[EngineRecord]) -> list[EngineRecord]:
    """Return the engines for a task, in the order of their worker's preference."""
    return sorted((r for r in records if r.kind == task), key=lambda record: record.order)


def _choose(start: StreamStart, offered: list[EngineRecord]) -> Choice:
    if start.engine is not None:
        record = _usable(_named(start.engine, offered))
    elif start.voice is not None and start.task == "synthesize":
        record = _usable(_with_voice(start.voice, offered))
    else:
        record = _usable(_by_language(start, offered))
    check_abilities(start, record, offered)
    if start.language is not None and not _copes(record, start.language):
        raise _no_language(start, record, offered)
    return Choice(record.name, _pick_voice(start, record))


def _named(name: str, offered: list[EngineRecord]) -> EngineRecord:
    for record in offered:
        if record.name == name:
            return record
    names = ", ".join(sorted(record.name for record in offered)) or "none"
    raise UnknownEngine(f"no engine {name!r} for this task; there are: {names}")


def _with_voice(voice: str, offered: list[EngineRecord]) -> EngineRecord:
    having = [record for record in offered if _has_voice(record, voice)]
    for record in having:
        if record.state == "ready":
            return record
    if having:
        return having[0]
    voices = ", ".join(sorted(voice.name for record in offered for voice in record.voices))
    raise UnknownVoice(f"no engine has a voice {voice!r}; there are: {voices or 'none'}")


def _by_language(start: StreamStart, offered: list[EngineRecord]) -> EngineRecord:
    """Choose the default, unless another one speaks the language and that does not.

    Engines that are no default are never chosen without a word: `tone` is one of them.
    """
    default = next((record for record in offered if record.default), None)
    if start.language is not None and not (default and _speaks(default, start.language)):
        for record in offered:
            if record.state == "ready" and _speaks(record, start.language):
                return record
    if default is None:
        names = ", ".join(sorted(record.name for record in offered if record.state == "ready"))
        raise EngineUnavailable(
            f"no worker has an engine to {start.task} by default; engines to name: {names}"
            if names
            else f"no worker is ready to {start.task}; try again in a moment",
            retry_after=LOADING_RETRY,
        )
    return default


def _no_language(
    start: StreamStart, record: EngineRecord, offered: list[EngineRecord]
) -> UnknownVoice | UnknownEngine:
    """Say that a language cannot be had of `record`, and how it could."""
    error = UnknownVoice if start.task == "synthesize" else UnknownEngine
    language = start.language or ""
    able = [other.name for other in offered if other.state == "ready" and _speaks(other, language)]
    if able:
        return error(
            f"{record.name} does not know the language {language!r}, but {', '.join(able)} does;"
            " name that engine, or no engine and no voice"
        )
    tags = {tag for record in offered if record.state == "ready" for tag in record.languages}
    ways = [record.reason for record in offered if record.reason and _speaks(record, language)]
    names = ", ".join(sorted(tags - {ANY_LANGUAGE})) or "none"
    sentence = f"language {language!r} is not at hand; there are: {names}"
    sentence = "; ".join([sentence, *ways])
    return error(sentence)


def _usable(record: EngineRecord) -> EngineRecord:
    if record.state == "ready":
        return record
    if record.state == "loading":
        raise EngineUnavailable(f"engine {record.name!r} is loading", retry_after=LOADING_RETRY)
    raise EngineUnavailable(f"engine {record.name!r} cannot run: {record.reason}")


def _pick_voice(start: StreamStart, record: EngineRecord) -> str | None:
    if start.task != "synthesize":
        return None
    if start.voice is None:
        return _default_voice(record, start.language)
    if not _has_voice(record, start.voice):
        names = ", ".join(voice.name for voice in record.voices) or "none"
        raise UnknownVoice(
            f"engine {record.name!r} has no voice {start.voice!r}; there are: {names}"
        )
    return start.voice


def _default_voice(record: EngineRecord, language: str | None) -> str | None:
    names = [voice.name for voice in record.voices]
    if language is not None:
        speaking = [voice.name for voice in record.voices if speaks(voice.languages, language)]
        names = speaking or names
    return names[0] if names else None


def _has_voice(record: EngineRecord, voice: str) -> bool:
    return any(offered.name == voice for offered in record.voices)


def _copes(record: EngineRecord, language: str) -> bool:
    return not record.languages or ANY_LANGUAGE in record.languages or _speaks(record, language)


def _speaks(record: EngineRecord, language: str) -> bool:
    return detects(record, language) or speaks(record.languages, language)
