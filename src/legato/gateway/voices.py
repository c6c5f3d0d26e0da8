"""Voices over HTTP: those of engines, and those that tenants bring themselves."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Iterable
from typing import Any, Final, Protocol, TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from legato.bus.base import Bus
from legato.bus.records import EngineRecord
from legato.bus.voices import Consent, OwnVoice, OwnVoices, checked_name, digest
from legato.errors import (
    BadAudio,
    ConsentRequired,
    MalformedMessage,
    Overloaded,
    TooManyVoices,
    UnknownVoice,
    VoiceExists,
)
from legato.gateway.access import Access
from legato.gateway.catalog import Catalog
from legato.gateway.cloning import can_clone
from legato.gateway.config import GatewayConfig
from legato.gateway.forms import Form, read_form
from legato.gateway.recordings import TIME_LIMIT, Recording, read_recording
from legato.speech.prompts import STORED
from legato.telemetry.logs import logger

VOICES_PATH: Final = "/v1/voices"
VOICE_PATH: Final = "/v1/voices/{name}"
SAMPLE_PATH: Final = "/v1/voices/{name}/sample"

FIELDS: Final = frozenset({"name", "text", "language", "gender", "consent"})
FILE: Final = "audio"
EXAMPLE: Final = "-F audio=@anna.wav -F name=anna -F consent=true"

MAX_TEXT_CHARS: Final = 1_000
"""Of what is said in a recording: 30 s of fast speech are 600."""

MAX_LANGUAGES: Final = 8

UPLOADS: Final = 2
"""Recordings that are taken at once; each may take 16 MiB of memory, and decoding a core."""

LEEWAY: Final = 5.0
"""Seconds for a decoder to come to its next look at the clock."""

STATEMENT: Final = (
    "The recording holds the voice of one person, who has agreed that it is stored here and that"
    " texts are spoken with it."
)
"""What `consent=true` says."""

_LANGUAGE: Final = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8}){0,4}")
"""Tags of BCP 47, roughly."""

log = logger(__name__)

T = TypeVar("T")


class InThread(Protocol):
    """What `asyncio.to_thread` is."""

    async def __call__(self, work: Callable[[bytes], T], data: bytes, /) -> T:
        """Do `work` where it may block."""


class VoiceRoutes:
    """Answers who asks for voices, or brings or removes one.

    Args:
        bus: Of all processes.
        catalog: What the workers offer.
        config: Of the gateway.
        access: Finds out who asks, and what he may.
        now: Returns Unix time in seconds.
        in_thread: Has work done that blocks.
    """

    def __init__(
        self,
        bus: Bus,
        catalog: Catalog,
        config: GatewayConfig,
        *,
        access: Access,
        now: Callable[[], float] = time.time,
        in_thread: InThread = asyncio.to_thread,
    ) -> None:
        self._voices = OwnVoices(bus)
        self._catalog = catalog
        self._most = config.max_voices
        self._access = access
        self._now = now
        self._in_thread = in_thread
        self._room = asyncio.Semaphore(UPLOADS)

    def routes(self) -> tuple[Route, ...]:
        """Return what is answered."""
        return (
            Route(VOICES_PATH, self._list),
            Route(VOICES_PATH, self._add, methods=["POST"]),
            Route(SAMPLE_PATH, self._sample),
            Route(VOICE_PATH, self._remove, methods=["DELETE"]),
        )

    async def _list(self, request: Request) -> Response:
        tenant = self._access.identify(request).tenant
        ready = await self._ready()
        speaker = _speaker(ready)
        own = [_described(voice, speaker) for voice in await self._voices.list(tenant)]
        offered = [msgspec.to_builtins(voice) for record in ready for voice in record.voices]
        return JSONResponse({"voices": [*own, *offered]})

    async def _add(self, request: Request) -> Response:
        tenant = self._access.check_change(request).tenant
        if self._room.locked():
            raise Overloaded("too many recordings are being taken; try again", retry_after=1.0)
        await self._room.acquire()
        reading: asyncio.Task[Recording] | None = None
        try:
            form = await read_form(request, file=FILE, example=EXAMPLE)
            details = _details(form.fields)
            await self._check_place(tenant, details["name"])
            reading = asyncio.create_task(self._in_thread(read_recording, _file(form)))
        except ClientDisconnect:
            return Response(status_code=400)  # which nobody reads
        finally:
            if reading is None:
                self._room.release()
        # A decoder that hangs keeps its place, so that there are never more of them.
        reading.add_done_callback(self._has_read)
        voice = await self._keep(tenant, details, await _within(reading))
        log.info("voice added", seconds=round(voice.seconds, 1))
        speaker = _speaker(await self._ready())
        return JSONResponse({"voice": _described(voice, speaker)}, status_code=201)

    async def _sample(self, request: Request) -> Response:
        tenant = self._access.check_private(request).tenant
        name = request.path_params["name"]
        voice = await self._voices.find(tenant, name)
        prompt = None if voice is None else await self._voices.prompt(tenant, voice)
        if prompt is None:
            raise UnknownVoice(
                f"you have no voice {name!r} of your own; to hear one of an engine, have it speak"
            )
        from legato.codecs.wav import wav_bytes  # as in `recordings`

        headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
        wav = wav_bytes(prompt.pcm, prompt.format)
        return Response(wav, media_type="audio/wav", headers=headers)

    async def _remove(self, request: Request) -> Response:
        tenant = self._access.check_change(request).tenant
        removed = await self._voices.remove(tenant, request.path_params["name"])
        log.info("voice removed", was_there=removed)
        return JSONResponse({"erased": {"voices": int(removed)}})

    def _has_read(self, reading: asyncio.Task[Recording]) -> None:
        self._room.release()
        if not reading.cancelled():
            reading.exception()  # whoever waited for it may be gone

    async def _ready(self) -> list[EngineRecord]:
        return [one for one in await self._catalog.engines() if one.state == "ready"]

    async def _check_place(self, tenant: str, name: str) -> None:
        """See that there is room for one more voice, and that nobody has its name."""
        own = await self._voices.list(tenant)
        if any(voice.name == name for voice in own):
            raise VoiceExists(f"you have a voice {name!r} already. {VoiceExists.advice}")
        if len(own) >= self._most:
            raise TooManyVoices(
                f"you have {len(own)} voices of your own, {self._most} are allowed."
                f" {TooManyVoices.advice}"
            )
        for record in await self._catalog.engines():
            if any(voice.name == name for voice in record.voices):
                raise VoiceExists(f"engine {record.name!r} has a voice {name!r}; choose another")

    async def _keep(self, tenant: str, details: dict[str, Any], recording: Recording) -> OwnVoice:
        now = self._now()
        voice = OwnVoice(
            sample_rate=STORED.sample_rate,
            seconds=recording.seconds,
            digest=await self._in_thread(digest, recording.pcm),
            created=now,
            consent=Consent(statement=STATEMENT, given=now),
            **details,
        )
        await self._voices.add(tenant, voice, recording.pcm)
        return voice


def _speaker(ready: Iterable[EngineRecord]) -> str | None:
    """Return the name of an engine that can speak with recordings."""
    return next((record.name for record in ready if can_clone(record)), None)


async def _within(reading: asyncio.Task[Recording]) -> Recording:
    try:
        async with asyncio.timeout(TIME_LIMIT + LEEWAY):
            return await asyncio.shield(reading)
    except TimeoutError as error:
        raise BadAudio("the recording cannot be decoded in time; send it as WAV") from error


def _details(fields: dict[str, str]) -> dict[str, Any]:
    """Return what a form says of a voice.

    Raises:
        MalformedMessage: If a field is missing, unknown or wrong; names it.
        ConsentRequired: If it does not say that the speaker agrees.
    """
    if unknown := sorted(fields.keys() - FIELDS):
        names = ", ".join(sorted(FIELDS))
        raise MalformedMessage(f"there is no field {unknown[0][:64]!r}; there are: {names}")
    name = checked_name(fields.get("name", ""))
    if fields.get("consent", "").lower() != "true":
        raise ConsentRequired(f"send consent=true if this is so: {STATEMENT}")
    gender = fields.get("gender") or None
    if gender not in {None, "female", "male"}:
        raise MalformedMessage("gender must be female or male, or left out")
    text = " ".join(fields.get("text", "").split())
    if len(text) > MAX_TEXT_CHARS or "<|" in text:
        raise MalformedMessage(
            f"text is what is said in the recording, at most {MAX_TEXT_CHARS} characters, without"
            " control tokens such as <|endofprompt|>"
        )
    tags = [tag.strip() for tag in fields.get("language", "").split(",") if tag.strip()]
    if len(tags) > MAX_LANGUAGES or not all(_LANGUAGE.fullmatch(tag) for tag in tags):
        raise MalformedMessage("language must be a tag such as zh or en-US, or several: zh,en")
    return {"name": name, "text": text, "gender": gender, "languages": tuple(tags)}


def _file(form: Form) -> bytes:
    if form.file is None:
        raise MalformedMessage(f"there is no recording; send it in the field {FILE}: {EXAMPLE}")
    if not form.file:
        raise BadAudio("the recording is empty (0 bytes)")
    return form.file


def _described(voice: OwnVoice, engine: str | None) -> dict[str, Any]:
    """Return what may be told of a voice: not what is said in its recording.

    Args:
        voice: It.
        engine: The engine that can speak with it, if there is one.
    """
    consent = {"statement": voice.consent.statement, "given": voice.consent.given}
    told: dict[str, Any] = {
        "name": voice.name,
        "own": True,
        "languages": voice.languages,
        "gender": voice.gender,
        "seconds": round(voice.seconds, 3),
        "created": voice.created,
        "has_text": bool(voice.text),
        "consent": consent,
        "usable": engine is not None,
        "engine": engine,
    }
    return {key: value for key, value in told.items() if value not in (None, ())}
