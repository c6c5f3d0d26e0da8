"""Measures how soon a cancelled call's slot is free: `python -m legato.worker.freeing RUNS`.

Prints one JSON object: seconds from the cancel to the free slot, of calls that wait for their
listener (`waiting`) and of calls in the middle of their engine's work (`working`).
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections.abc import Sequence
from time import perf_counter
from typing import Final

from legato.audio import AudioFormat
from legato.engines.base import EngineKind
from legato.speech import SynthesisRequest
from legato.worker.calls import EngineCall
from legato.worker.config import EngineSpec, WorkerConfig
from legato.worker.frames import Sound
from legato.worker.process import EngineProcess

SPEC: Final = EngineSpec(kind=EngineKind.SYNTHESIZE, name="hibari")
REQUEST: Final = SynthesisRequest(format=AudioFormat(24_000), seed=1)
SENTENCE: Final = "Every morning he came down to the water and looked at the other side. "
SENTENCES: Final = 12
FULL: Final = 0.6
"""Seconds after which the engine has made all that nobody has taken yet, and waits."""

LATEST: Final = 0.4
"""Seconds after the first audio by which a call is cancelled that is still at work."""

DEADLINE: Final = 10.0


class Freeing:
    """Cancels calls of one engine process, and notes when their slots are free.

    Args:
        seed: Of the moments.
    """

    def __init__(self, seed: int = 5) -> None:
        self._rng = random.Random(seed)  # noqa: S311  (moments, not secrets)
        self._freed = asyncio.Event()
        self._freed_at = 0.0
        self._process = EngineProcess(SPEC, WorkerConfig(), freed=self._note)

    async def measure(self, runs: int) -> dict[str, list[float]]:
        """Cancel `runs` calls of each kind; return the seconds that each took."""
        await self._process.start()
        try:
            await self._cancelled(taking=False, after=FULL)  # warm
            waiting = [await self._cancelled(taking=False, after=FULL) for _ in range(runs)]
            moments = [LATEST * self._rng.random() for _ in range(runs)]
            working = [await self._cancelled(taking=True, after=moment) for moment in moments]
        finally:
            await self._process.stop()
        return {"waiting": waiting, "working": working}

    async def _cancelled(self, *, taking: bool, after: float) -> float:
        call = self._process.open(REQUEST)
        for _ in range(SENTENCES):
            await call.feed(SENTENCE)
        while not isinstance(await anext(call), Sound):
            pass
        taker = asyncio.create_task(_take(call)) if taking else None
        await asyncio.sleep(after)
        self._freed.clear()
        began = perf_counter()
        call.close()
        async with asyncio.timeout(DEADLINE):
            await self._freed.wait()
            if taker is not None:
                await taker
        return self._freed_at - began

    def _note(self, _held: float) -> None:
        self._freed_at = perf_counter()
        self._freed.set()


async def _take(call: EngineCall) -> None:
    async for _ in call:
        pass


def main(arguments: Sequence[str]) -> None:
    """Measure, and print what was found."""

    async def measure() -> dict[str, list[float]]:
        return await Freeing().measure(int(arguments[0]))

    json.dump(asyncio.run(measure()), sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])
