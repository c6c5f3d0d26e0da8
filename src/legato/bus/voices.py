"""Voices that tenants have brought themselves: recordings of speakers, kept on the bus.

What is known of a voice is a record of the registry, its recording a blob beside it. The memory bus
keeps both for as long as its process lives, Redis for as long as it keeps anything.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from typing import Final

import msgspec

from legato.audio import AudioFormat
from legato.bus.base import Bus
from legato.bus.forgetting import tell_forgotten
from legato.errors import MalformedMessage, VoiceExists
from legato.speech.voices import VoicePrompt
from legato.telemetry.logs import logger

log = logger(__name__)

KIND: Final = "prompt"
"""Family of the records, and how the names of the blobs begin."""

MAX_NAME_CHARS: Final = 64

_NAME: Final = re.compile(r"[^\W_][\w.-]{0,63}")


class Consent(msgspec.Struct, kw_only=True, frozen=True):
    """That the speaker agrees, as the one who brought the recording says.

    Attributes:
        statement: To what.
        given: Unix time in seconds at which it was said.
    """

    statement: str
    given: float


class OwnVoice(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """What is known of a voice.

    Attributes:
        name: Unique within its tenant.
        sample_rate: Of the recording, in Hz; it is mono, 16 bits.
        seconds: Its length.
        digest: Hex SHA-256 of its samples.
        created: Unix time in seconds.
        consent: Of its speaker.
        text: What is said in it, "" if that is not known.
        languages: BCP 47 tags that the speaker speaks; none if that is not known.
        gender: "female", "male" or None where it is not said.
    """

    name: str
    sample_rate: int
    seconds: float
    digest: str
    created: float
    consent: Consent
    text: str = ""
    languages: tuple[str, ...] = ()
    gender: str | None = None


class OwnVoices:
    """The voices of all tenants.

    Args:
        bus: Where they are.
    """

    def __init__(self, bus: Bus) -> None:
        self._registry = bus.registry
        self._blobs = bus.blobs

    async def list(self, tenant: str) -> list[OwnVoice]:
        """Return a tenant's voices, the oldest first.

        Raises:
            BusUnavailable: If the bus does not answer; so do all others.
        """
        records = await self._registry.list(tenant, KIND)
        decoded = (_decode(record.value) for record in records.values())
        found = [voice for voice in decoded if voice is not None]
        return sorted(found, key=lambda voice: (voice.created, voice.name))

    async def find(self, tenant: str, name: str) -> OwnVoice | None:
        """Return what is known of a voice, or None."""
        if (known := _normal(name)) is None:
            return None
        record = await self._registry.get(tenant, KIND, known)
        return None if record is None else _decode(record.value)

    async def add(self, tenant: str, voice: OwnVoice, pcm: bytes) -> None:
        """Keep a voice.

        Args:
            tenant: Whose.
            voice: What is known of it; `digest` is that of `pcm`.
            pcm: The recording.

        Raises:
            VoiceExists: If there is one of this name.
            Overloaded: If the bus has no room for it.
        """
        # The recording first: a voice that is listed can be spoken with.
        await self._blobs.put(tenant, _blob(voice), pcm)
        value = msgspec.json.encode(voice)
        try:
            kept = await self._registry.put(tenant, KIND, voice.name, value, expected=0)
        except BaseException:
            await self._drop(tenant, voice)
            raise
        if not kept:
            await self._drop(tenant, voice)
            raise VoiceExists(f"there is a voice {voice.name!r} already. {VoiceExists.advice}")

    async def prompt(self, tenant: str, voice: OwnVoice) -> VoicePrompt | None:
        """Return a voice with its recording; None if that was removed meanwhile."""
        pcm = await self._blobs.get(tenant, _blob(voice))
        if pcm is None or digest(pcm) != voice.digest:
            return None
        form = AudioFormat(voice.sample_rate)
        return VoicePrompt(
            name=voice.name, pcm=pcm, format=form, text=voice.text, digest=voice.digest
        )

    async def remove(self, tenant: str, name: str) -> bool:
        """Erase a voice; False if there was none of this name.

        Workers drop what they keep of it, and of its tenant's speech.

        Raises:
            Overloaded: If the bus has no room to tell workers.
        """
        voice = await self.find(tenant, name)
        removed = False
        if voice is not None:
            # The recording first: should the bus fail here, the voice is still there to be removed.
            await self._blobs.delete(tenant, _blob(voice))
            removed = await self._registry.delete(tenant, KIND, voice.name)
        # If there is none as well: who asks again may be one for whom this failed.
        await tell_forgotten(self._registry, tenant)
        return removed

    async def _drop(self, tenant: str, voice: OwnVoice) -> None:
        """Erase the recording of a voice that could not be kept, unless another has the same."""
        kept = await self.find(tenant, voice.name)
        if kept is None or kept.digest != voice.digest:
            await self._blobs.delete(tenant, _blob(voice))


def checked_name(name: str) -> str:
    """Return a name as it is kept (Unicode's form NFC), if a voice may have it.

    Raises:
        MalformedMessage: If it is empty, longer than 64 characters, holds anything but letters and
            digits of any script and _ . -, or does not begin with a letter or digit.
    """
    if (known := _normal(name)) is not None:
        return known
    raise MalformedMessage(
        f"a voice's name is 1 to {MAX_NAME_CHARS} letters and digits of any script and _ . -, and"
        " begins with a letter or digit"
    )


def digest(pcm: bytes) -> str:
    """Return what tells recordings apart."""
    return hashlib.sha256(pcm).hexdigest()


def _decode(value: bytes) -> OwnVoice | None:
    try:
        return msgspec.json.decode(value, type=OwnVoice)
    except msgspec.DecodeError:
        log.warning("a voice's record cannot be read")  # a gateway of another version
        return None


def _normal(name: str) -> str | None:
    if len(name) > MAX_NAME_CHARS:
        return None
    normal = unicodedata.normalize("NFC", name)
    return normal if _NAME.fullmatch(normal) else None


def _blob(voice: OwnVoice) -> str:
    return f"{KIND}/{voice.name}/{voice.digest}"
