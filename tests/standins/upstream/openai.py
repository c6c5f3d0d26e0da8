"""A server with OpenAI's speech, transcription and models routes."""

from __future__ import annotations

import io
import json
import wave
from collections.abc import Iterable

from tests.standins.upstream.sound import as_pcm, spoken
from tests.standins.upstream.web import Asked, Web

RATE_HZ = 24_000
VOICES = {"alloy", "ash"}


class OpenAI(Web):
    """The server."""

    def reply(self, asked: Asked) -> tuple[int, str | None, Iterable[bytes]]:
        match asked.method, asked.path:
            case "GET", "/v1/models":
                return 200, "application/json", [b'{"object":"list","data":[]}']
            case "POST", "/v1/audio/speech":
                return self._speech(asked.fields)
            case "POST", "/v1/audio/transcriptions":
                return self._transcription(asked)
        return _error(404, "no such route")

    def _speech(self, fields: dict[str, str]) -> tuple[int, str | None, Iterable[bytes]]:
        if fields["voice"] not in VOICES:
            return _error(400, f"voice {fields['voice']}")
        if fields.get("response_format") != "pcm":  # mp3 is the default
            return 200, "audio/mpeg", [b"ID3"]
        if len(fields["input"]) > 4_096:
            return _error(400, "input is too long")
        audio = spoken(fields["input"], RATE_HZ, float(fields.get("speed", "1")))
        return 200, "audio/pcm", [as_pcm(audio)]

    def _transcription(self, asked: Asked) -> tuple[int, str | None, Iterable[bytes]]:
        with wave.open(io.BytesIO(asked.files["file"])) as file:
            seconds = file.getnframes() / file.getframerate()
        text = f"{seconds:.1f} seconds of speech"
        return 200, "application/json", [json.dumps({"text": text}).encode()]


def _error(status: int, message: str) -> tuple[int, str | None, Iterable[bytes]]:
    body = {"error": {"message": message, "type": "invalid_request_error", "code": None}}
    return status, "application/json", [json.dumps(body).encode()]
