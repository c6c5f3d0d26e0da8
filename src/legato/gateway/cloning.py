"""The choice for a stream that asks for a voice of its tenant's own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from legato.bus.records import EngineRecord
from legato.bus.voices import OwnVoices
from legato.errors import EngineUnavailable, UnknownVoice
from legato.gateway.casting import ANY_LANGUAGE
from legato.gateway.catalog import LOADING_RETRY, Catalog, Choice
from legato.protocol.messages import StreamStart
from legato.speech.languages import speaks

CLONING: Final = "cloning"
"""Of `EngineRecord.abilities`: the engine speaks with the voice of a recording."""

PAGE: Final = "docs/voices.md"


class Voices:
    """Chooses engine and voice: a tenant's own voices go before those of engines.

    Args:
        voices: Of all tenants.
        catalog: What the workers offer.
    """

    def __init__(self, voices: OwnVoices, catalog: Catalog) -> None:
        self._voices = voices
        self._catalog = catalog

    async def choose(self, tenant: str, start: StreamStart) -> Choice:
        """Choose for a stream; see `Catalog.choose`.

        Raises:
            UnknownVoice: If the engine that is named cannot speak with recordings.
            EngineUnavailable: If none at hand can.
            RequestError: As `Catalog.choose`.
        """
        voice = start.voice
        if start.task != "synthesize" or voice is None:
            return await self._catalog.choose(start)
        if await self._voices.find(tenant, voice) is None:
            return await self._catalog.choose(start)
        try:
            cloner = choose_cloner(start, await self._catalog.engines())
        except (UnknownVoice, EngineUnavailable):
            cloner = choose_cloner(start, await self._catalog.engines(fresh=True))
        return Choice(cloner.name, voice)


def choose_cloner(start: StreamStart, records: Iterable[EngineRecord]) -> EngineRecord:
    """Return the engine that speaks with a recording.

    Raises:
        UnknownVoice: If the engine that is named cannot, or none that can speaks the language.
        EngineUnavailable: If none at hand can.
    """
    able = [record for record in records if can_clone(record)]
    named = [record for record in able if start.engine in {None, record.name}]
    if able and not named:
        names = ", ".join(sorted(record.name for record in able))
        raise UnknownVoice(
            f"engine {start.engine!r} cannot speak with a voice of your own; these can: {names}"
        )
    ready = [record for record in named if record.state == "ready"]
    if not ready:
        raise _unavailable(named)
    speaking = [record for record in ready if _copes(record, start.language)]
    if not speaking:
        tags = ", ".join(sorted({tag for record in ready for tag in record.languages}))
        raise UnknownVoice(
            f"no engine speaks {start.language!r} with a voice of your own; they speak: {tags}"
        )
    return min(speaking, key=lambda record: (not record.default, record.order))


def can_clone(record: EngineRecord) -> bool:
    """Whether an engine can speak with recordings, if it can be used at all."""
    return record.kind == "synthesize" and CLONING in record.abilities


def _copes(record: EngineRecord, language: str | None) -> bool:
    tags = record.languages
    return language is None or not tags or ANY_LANGUAGE in tags or speaks(tags, language)


def _unavailable(able: list[EngineRecord]) -> EngineUnavailable:
    if any(record.state == "loading" for record in able):
        names = ", ".join(record.name for record in able)
        return EngineUnavailable(f"{names}: loading", retry_after=LOADING_RETRY)
    ways = "; ".join(f"{record.name}: {record.reason}" for record in able)
    return EngineUnavailable(
        f"no engine at hand can speak with a voice of your own; {ways or f'see {PAGE}'}"
    )
