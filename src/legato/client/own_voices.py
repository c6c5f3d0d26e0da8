"""Voices of one's own: recordings that a server is given to speak with."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from legato.client.config import ClientConfig
from legato.client.resources import read_object
from legato.errors import BadAudio, ConnectionLost

MAX_FILE_BYTES: Final = 16 << 20
"""What a server takes."""

ADD_TIMEOUT: Final = 60.0
"""Seconds for a server to take and look at a recording."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnVoice:
    """A voice that was brought.

    Attributes:
        name: What `voice=` asks for.
        languages: BCP 47 tags, as they were given.
        gender: "female", "male" or None.
        seconds: Length of the recording.
        created: Unix time in seconds.
        usable: Whether an engine at hand can speak with it now.
        engine: That engine, or "".
        facts: All that the server says of it.
    """

    name: str
    languages: tuple[str, ...] = ()
    gender: str | None = None
    seconds: float = 0.0
    created: float = 0.0
    usable: bool = False
    engine: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict, repr=False)


class OwnVoices:
    """The voices that a client's key has brought to its server.

    Args:
        config: Of the server.
    """

    def __init__(self, config: ClientConfig) -> None:
        self._config = config

    async def add(
        self,
        name: str,
        recording: str | os.PathLike[str] | bytes,
        *,
        consent: bool,
        text: str = "",
        languages: Sequence[str] = (),
        gender: str | None = None,
    ) -> OwnVoice:
        """Bring a voice.

        Args:
            name: 1 to 64 letters and digits of any script and _ . -
            recording: Path, or the bytes, of a file of any kind that FFmpeg reads: 3 to 30 s of one
                speaker, 16 kHz or more.
            consent: That the speaker has agreed that the recording is stored and that texts are
                spoken with its voice; the server records it and takes nothing without.
            text: What is said in it, word for word; voices come out better with it.
            languages: BCP 47 tags that the speaker speaks.
            gender: "female", "male" or None.

        Raises:
            BadAudio: If the recording will not do, or is not there; says why and what to do.
            ConsentRequired: Without consent.
            VoiceExists: If the name is taken.
            TooManyVoices: If there are as many as may be.
            ConnectionLost: If the server cannot be reached.
            LegatoError: What else the server says is wrong.
        """
        fields = {"name": name, "consent": "true" if consent else "false", "text": text}
        fields |= {"language": ",".join(languages), "gender": gender or ""}
        return await asyncio.to_thread(self._add, fields, recording)

    async def remove(self, name: str) -> bool:
        """Have a voice and its recording erased; False if there was none of this name.

        Raises:
            ConnectionLost: If the server cannot be reached.
            LegatoError: What else the server says is wrong.
        """
        place = f"voices/{quote(name, safe='')}"
        answer = await asyncio.to_thread(read_object, self._config, place, method="DELETE")
        erased = answer.get("erased")
        if not isinstance(erased, dict):
            raise ConnectionLost("the server gives no receipt: not a Legato server?")
        return bool(erased.get("voices"))

    async def list(self) -> list[OwnVoice]:
        """Return the voices that were brought, the oldest first.

        Raises:
            ConnectionLost: If the server cannot be reached.
        """
        answer = await asyncio.to_thread(read_object, self._config, "voices")
        return [_voice(facts) for facts in _entries(answer) if facts.get("own")]

    def _add(
        self, fields: Mapping[str, str], recording: str | os.PathLike[str] | bytes
    ) -> OwnVoice:
        body, media_type = _form(fields, _content(recording))
        answer = read_object(
            self._config,
            "voices",
            method="POST",
            body=body,
            media_type=media_type,
            timeout=ADD_TIMEOUT,
        )
        (voice,) = _entries({"voices": [answer.get("voice")]})
        return _voice(voice)


def _content(recording: str | os.PathLike[str] | bytes) -> bytes:
    if isinstance(recording, bytes):
        return recording
    try:
        with Path(recording).open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise BadAudio(f"{recording}: cannot be read: {error.strerror or error}") from error
    if len(content) > MAX_FILE_BYTES:
        most = MAX_FILE_BYTES >> 20
        raise BadAudio(f"{recording}: is larger than {most} MiB; cut it to 30 s of one speaker")
    return content


def _form(fields: Mapping[str, str], content: bytes) -> tuple[bytes, str]:
    """Return a form (RFC 7578) with a recording in it, and its media type."""
    boundary = f"legato-{secrets.token_hex(16)}"
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in fields.items()
    ]
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="audio"; filename="audio"\r\n\r\n'
    body = b"".join([*parts, head.encode(), content, f"\r\n--{boundary}--\r\n".encode()])
    return body, f"multipart/form-data; boundary={boundary}"


def _entries(answer: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    entries = answer.get("voices")
    if not isinstance(entries, list) or not all(
        isinstance(one, dict) and "name" in one for one in entries
    ):
        raise ConnectionLost("the server does not list voices: not a Legato server?")
    return entries


def _voice(facts: Mapping[str, Any]) -> OwnVoice:
    return OwnVoice(
        name=facts["name"],
        languages=tuple(facts.get("languages", ())),
        gender=facts.get("gender"),
        seconds=facts.get("seconds", 0.0),
        created=facts.get("created", 0.0),
        usable=facts.get("usable", False),
        engine=facts.get("engine", ""),
        facts=facts,
    )
