"""Which engine speaks which piece of a text.

By script, by language, and then by the order of `worker.engines`: see docs/voices.md.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from legato.engines.base import EngineInfo
from legato.errors import UnsupportedText
from legato.speech.languages import sole_language, speaks, written_in
from legato.speech.scripts import Script, runs, scripts_in, unspeakable
from legato.worker.pool import EnginePool, PoolState


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of text and who speaks it.

    Attributes:
        text: What to say.
        pool: The engine.
        chosen: Whether it is the engine that the client asked for, so that voice and language hold.
        language: BCP 47 tag that another engine is asked for; None leaves it to its reading.
    """

    text: str
    pool: EnginePool
    chosen: bool
    language: str | None = None


class Router:
    """Gives each text to the engine asked for, or where that cannot speak it to another that can.

    Args:
        pools: The worker's synthesizers, in order of preference.
    """

    def __init__(self, pools: Sequence[EnginePool]) -> None:
        self._pools = pools

    def route(self, text: str, engine: str, language: str = "") -> list[Passage]:
        """Split `text` by who speaks it; joined again the pieces are `text`.

        Args:
            text: A segment with something to say in it.
            engine: Name of the engine asked for.
            language: BCP 47 tag asked for, "" if none. It holds for the scripts that the language
                is written in.

        Raises:
            UnsupportedText: If there are characters that no engine at hand can speak.
        """
        chosen = next(pool for pool in self._pools if pool.spec.name == engine)
        scripts = scripts_in(text)
        foreign = language if scripts & written_in(language) else ""
        if _reads(chosen.info, scripts) and _speaks(chosen.info, foreign):
            return [Passage(text, chosen, chosen=True)]
        passages: list[Passage] = []
        for script, piece in runs(text):
            passage = self._passage(script, piece, language, chosen)
            if passage is None:
                raise self._refusal(text, chosen)
            if passages and passages[-1].pool is passage.pool:
                passages[-1] = _joined(passages[-1], passage)
            else:
                passages.append(passage)
        return passages

    def _passage(
        self, script: Script, piece: str, language: str, chosen: EnginePool
    ) -> Passage | None:
        """Give a run of one script to the first engine that reads it and speaks its language.

        Where none speaks that, one that reads it does: with an accent, but all is said.
        """
        asked = language if script in written_in(language) else ""
        wanted = asked or sole_language(script)
        readers = list(self._readers(script, chosen))
        for pool in readers:
            if _speaks(pool.info, asked if pool is chosen else wanted):
                break
        else:
            if not readers:
                return None
            pool = readers[0]
        if pool is chosen:
            return Passage(piece, pool, chosen=True)
        return Passage(piece, pool, chosen=False, language=wanted or None)

    def _readers(self, script: Script, chosen: EnginePool) -> Iterator[EnginePool]:
        if script is Script.COMMON or _reads(chosen.info, {script}):
            yield chosen
        for pool in self._pools:
            known = pool.info is not None and pool.info.scripts
            ready = pool is not chosen and pool.state is PoolState.READY
            if ready and known and _reads(pool.info, {script}):
                yield pool

    def _refusal(self, text: str, chosen: EnginePool) -> UnsupportedText:
        """Say which characters nobody can speak, who could, and the command that adds it."""
        ready = [pool for pool in self._pools if pool.state is PoolState.READY and pool.info]
        spoken = {script for pool in ready if pool.info for script in pool.info.scripts}
        characters = unspeakable(text, spoken) or text[:20]
        needed = scripts_in(characters)
        parts = [f'{chosen.spec.name} cannot speak "{characters}"']
        parts.extend(
            _invitation(pool)
            for pool in self._pools
            if pool.state is not PoolState.READY
            and pool.info is not None
            and pool.info.scripts
            and _reads(pool.info, needed)
        )
        if len(parts) == 1:
            parts.append("nor can any engine known here; remove the characters")
        return UnsupportedText("; ".join(parts), characters=characters)


def _joined(one: Passage, other: Passage) -> Passage:
    language = one.language if one.language == other.language else None
    return Passage(one.text + other.text, one.pool, one.chosen, language)


def _reads(info: EngineInfo | None, scripts: Collection[Script]) -> bool:
    return info is not None and (not info.scripts or info.scripts.issuperset(scripts))


def _speaks(info: EngineInfo | None, language: str) -> bool:
    """Tell whether an engine speaks a language; one that names none speaks any."""
    if info is None or not language or not info.languages:
        return info is not None
    return speaks((*info.languages,), language) or "mul" in info.languages


def _invitation(pool: EnginePool) -> str:
    name = pool.spec.name
    if pool.add_command is not None:
        return f"{name} can, add it with: {pool.add_command}"
    if pool.reason is not None:
        return f"{name} can: {pool.reason}"
    return f"{name} can, but is still loading"
