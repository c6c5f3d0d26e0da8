"""The recordings of voices that tenants have brought, on their way from the bus to engines."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final

from legato.bus.base import Bus, Job
from legato.bus.voices import OwnVoice, OwnVoices
from legato.errors import BusUnavailable
from legato.speech.voices import VoicePrompt
from legato.telemetry.logs import logger

KEPT: Final = 16
"""Recordings that are kept, of all tenants: 24 MB at most."""

LOOK_EVERY: Final = 5.0
"""Seconds between looks at whether voices whose recordings are kept are still there."""

Keep = Callable[[Collection[str]], None]
"""Takes the digests of the recordings that engines may keep."""

log = logger("legato.worker.prompts")


@dataclass(frozen=True, slots=True)
class _Kept:
    voice: OwnVoice
    prompt: VoicePrompt


class Prompts:
    """Fetches recordings, and keeps the last ones for as long as their voices are there.

    Args:
        bus: Where they are.
        keep: Has engines forget all others.
    """

    def __init__(self, bus: Bus, keep: Keep) -> None:
        self._voices = OwnVoices(bus)
        self._keep = keep
        self._kept: OrderedDict[tuple[str, str], _Kept] = OrderedDict()

    async def find(self, tenant: str, name: str) -> VoicePrompt | None:
        """Return a tenant's own voice; None if it has none of this name.

        Raises:
            BusUnavailable: If the bus does not answer.
        """
        place = (tenant, name)
        voice = await self._voices.find(tenant, name)
        kept = self._kept.get(place)
        if voice is None or (kept is not None and kept.voice != voice):
            kept = None
            self._kept.pop(place, None)
        if voice is None:
            return None
        if kept is None:
            prompt = await self._voices.prompt(tenant, voice)
            if prompt is None:
                return None
            kept = _Kept(voice, prompt)
        self._kept[place] = kept
        self._kept.move_to_end(place)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return kept.prompt

    async def run(self) -> None:
        """Look for ever whether voices were removed, and have their recordings forgotten."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            try:
                await self.look()
            except BusUnavailable:
                log.warning("bus unavailable")

    async def look(self) -> None:
        """Look once.

        Raises:
            BusUnavailable: If the bus does not answer.
        """
        for place, kept in list(self._kept.items()):
            if await self._voices.find(*place) != kept.voice and self._kept.get(place) is kept:
                del self._kept[place]
        self._keep({kept.prompt.digest for kept in self._kept.values()})


class StreamPrompt:
    """The voice of one stream, fetched when it is first needed and the same to its end.

    Args:
        prompts: Where it comes from.
        job: The stream's.
    """

    def __init__(self, prompts: Prompts | None, job: Job) -> None:
        self._prompts = prompts
        self._job = job
        self._found: VoicePrompt | None = None
        self._looked = False

    async def get(self) -> VoicePrompt | None:
        """Return the recording whose voice is to speak, or None if that is a voice of the engine.

        Raises:
            BusUnavailable: If the bus does not answer.
        """
        voice = self._job.start.voice
        if not self._looked and self._prompts is not None and voice is not None:
            self._found = await self._prompts.find(self._job.key.tenant, voice)
            self._looked = True
        return self._found
