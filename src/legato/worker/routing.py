"""Which engine speaks which piece of a text."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from legato.engines.base import EngineInfo
from legato.errors import UnsupportedText
from legato.speech.scripts import Script, runs, scripts_in, unspeakable
from legato.worker.pool import EnginePool, PoolState


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of text and who speaks it.

    Attributes:
        text: What to say.
        pool: The engine.
        chosen: Whether it is the engine that the client asked for, so that voice and language hold.
    """

    text: str
    pool: EnginePool
    chosen: bool


class Router:
    """Gives each text to the engine asked for, or where that cannot read it to another that can.

    Args:
        pools: The worker's synthesizers, in order of preference.
    """

    def __init__(self, pools: Sequence[EnginePool]) -> None:
        self._pools = pools

    def route(self, text: str, engine: str) -> list[Passage]:
        """Split `text` by who speaks it; joined again the pieces are `text`.

        Args:
            text: A segment with something to say in it.
            engine: Name of the engine asked for.

        Raises:
            UnsupportedText: If there are characters that no engine at hand can speak.
        """
        chosen = next(pool for pool in self._pools if pool.spec.name == engine)
        if _reads(chosen.info, scripts_in(text)):
            return [Passage(text, chosen, chosen=True)]
        passages: list[Passage] = []
        for script, piece in runs(text):
            pool = self._speaker(script, chosen)
            if pool is None:
                raise self._refusal(text, chosen)
            if passages and passages[-1].pool is pool:
                passages[-1] = Passage(passages[-1].text + piece, pool, pool is chosen)
            else:
                passages.append(Passage(piece, pool, pool is chosen))
        return passages

    def _speaker(self, script: Script, chosen: EnginePool) -> EnginePool | None:
        if script is Script.COMMON or _reads(chosen.info, {script}):
            return chosen
        others = (pool for pool in self._pools if pool.info is not None and pool.info.scripts)
        for pool in others:
            if pool.state is PoolState.READY and _reads(pool.info, {script}):
                return pool
        return None

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


def _reads(info: EngineInfo | None, scripts: Collection[Script]) -> bool:
    return info is not None and (not info.scripts or info.scripts.issuperset(scripts))


def _invitation(pool: EnginePool) -> str:
    name = pool.spec.name
    if pool.add_command is not None:
        return f"{name} can, add it with: {pool.add_command}"
    if pool.reason is not None:
        return f"{name} can: {pool.reason}"
    return f"{name} can, but is still loading"
