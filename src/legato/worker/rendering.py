"""Lines spoken: by an engine, or from the cache where the same was said before."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import Final

from legato.audio import AudioFormat
from legato.bus.base import Job
from legato.engines.base import Ability
from legato.errors import MalformedMessage
from legato.protocol.messages import StreamStart
from legato.protocol.payloads import BITRATE
from legato.speech import SynthesisRequest
from legato.speech.ssml import FASTEST, SLOWEST
from legato.worker.cache import Recording, SpeechCache
from legato.worker.config import WorkerConfig
from legato.worker.downlog import DownLog
from legato.worker.frames import PIECE_SECONDS, Sound
from legato.worker.pace import Pace
from legato.worker.pool import EnginePool
from legato.worker.prompts import Prompts, StreamPrompt
from legato.worker.routing import Passage, Router
from legato.worker.script import KEYS, Line, TextOptions, written_out
from legato.worker.sound import sound_options, treatment_of

OWN_KEYS: Final = KEYS | {"sound", "cache", BITRATE}
"""Keys of `options` that never reach an engine."""


class Rendering:
    """Has the lines of one stream spoken.

    The samples of a line depend on the stream's start, its text and the engine's version alone:
    another worker makes the same, from the start of any line.

    Args:
        job: Of the stream.
        audio: Its format.
        text: What its options say of its text.
        down: Told of a wait for a slot.
        pace: Of the stream.
        router: Knows the engines.
        cache: Of the worker.
        config: Of the worker.
        prompts: Where the voices of tenants' own come from.

    Attributes:
        has_slot: Whether it holds a slot of an engine.

    Raises:
        MalformedMessage: If an option has a value that it cannot have.
    """

    def __init__(
        self,
        job: Job,
        audio: AudioFormat,
        text: TextOptions,
        *,
        down: DownLog,
        pace: Pace,
        router: Router,
        cache: SpeechCache,
        config: WorkerConfig,
        prompts: Prompts | None = None,
    ) -> None:
        self.has_slot = False
        self._job = job
        self._prompt = StreamPrompt(prompts, job)
        self._audio = audio
        self._piece_bytes = audio.frame_bytes(PIECE_SECONDS)
        self._reading = text.reading
        self._sound = sound_options(job.start)
        self._down = down
        self._pace = pace
        self._router = router
        self._cache = cache if _may_cache(job.start) else SpeechCache(0)
        self._said = config.loudness

    async def speak(self, line: Line) -> AsyncGenerator[bytes]:
        """Yield the sound of a line that has something to say in it.

        Raises:
            LegatoError: If it cannot be spoken.
            EngineLost: If its engine's process died; the line can be spoken again.
        """
        passages = self._router.route(line.text, self._job.engine, line.asked)
        for passage in passages:
            behind = "" if passage is passages[-1] else passage.text
            async with aclosing(self._passage(line, passage, behind)) as pieces:
                async for pcm in pieces:
                    yield pcm

    async def _passage(self, line: Line, passage: Passage, behind: str) -> AsyncGenerator[bytes]:
        pool = passage.pool
        text = written_out(passage.text, line, pool.info, self._reading)
        request = await self._request(line, passage, text, behind)
        recording = self._cache.recording(self._job.key.tenant, pool.info, request, text)
        found = None if recording is None else recording.found()
        if found is not None:
            for start in range(0, len(found), self._piece_bytes):
                await asyncio.sleep(0)  # a cancel may have come
                yield found[start : start + self._piece_bytes]
            return
        async with aclosing(self._call(pool, request, text, recording)) as pieces:
            async for pcm in pieces:
                yield pcm

    async def _call(
        self, pool: EnginePool, request: SynthesisRequest, text: str, recording: Recording | None
    ) -> AsyncGenerator[bytes]:
        caller = self._pace.caller(under_way=self._down.sample > 0)
        call = await pool.open(request, caller=caller, queued=self._down.queued)
        self.has_slot = True
        self._pace.begin_call()
        try:
            await call.feed(text)
            call.end()
            async for output in call:
                if not isinstance(output, Sound):
                    continue
                if recording is not None:
                    recording.add(output.pcm)
                yield output.pcm
            if recording is not None:
                recording.keep()
        finally:
            self.has_slot = False
            call.close()
            self._pace.end_call(pool.measure)

    async def _request(
        self, line: Line, passage: Passage, text: str, behind: str
    ) -> SynthesisRequest:
        start, info = self._job.start, passage.pool.info
        clones = passage.chosen and info is not None and Ability.CLONING in info.abilities
        request = SynthesisRequest(
            format=self._audio,
            voice=start.voice if passage.chosen else None,
            language=start.language if passage.chosen else passage.language,
            speed=min(max(start.speed * line.rate, SLOWEST), FASTEST),
            # Of the text and not of its place: said again, it sounds the same.
            seed=zlib.crc32(f"{self._job.seed}/{text}".encode("utf-8", "replace")),
            options={key: value for key, value in start.options.items() if key not in OWN_KEYS},
            prompt=await self._prompt.get() if clones else None,
        )
        treatment = treatment_of(
            self._sound,
            info,
            request,
            said=self._said,
            language=line.language,
            behind=behind,
        )
        return replace(request, treatment=treatment)


def _may_cache(start: StreamStart) -> bool:
    told = start.options.get("cache", True)
    if not isinstance(told, bool):
        raise MalformedMessage("options.cache must be true or false")
    return told
