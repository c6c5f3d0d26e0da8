"""CosyVoice's FastAPI server: raw samples, no header, no rate, 200 before anything is known."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tests.standins.upstream.sound import as_pcm, spoken
from tests.standins.upstream.web import Asked, Web

FIELDS = {
    "/inference_sft": ({"tts_text", "spk_id"}, False),
    "/inference_zero_shot": ({"tts_text", "prompt_text"}, True),
    "/inference_cross_lingual": ({"tts_text"}, True),
    "/inference_instruct": ({"tts_text", "spk_id", "instruct_text"}, False),
    "/inference_instruct2": ({"tts_text", "instruct_text"}, True),
}


class CosyVoiceFastApi(Web):
    """The server.

    Attributes:
        rate_hz: Of its model.
        tensor_bug: Whether it hands a loaded tensor on where a file is expected, as at HEAD: the
            answer begins with 200 and then breaks off.
    """

    def __init__(self, *, rate_hz: int = 24_000, tensor_bug: bool = False) -> None:
        super().__init__()
        self.rate_hz = rate_hz
        self.tensor_bug = tensor_bug

    def reply(self, asked: Asked) -> tuple[int, str | None, Iterable[bytes]]:
        if asked.path not in FIELDS:
            return 404, "application/json", [b'{"detail":"Not Found"}']
        fields, has_file = FIELDS[asked.path]
        if set(asked.fields) != fields or ("prompt_wav" in asked.files) is not has_file:
            return 422, "application/json", [b'{"detail":[{"type":"missing"}]}']
        return 200, None, self._spoken(asked.fields["tts_text"], has_file)

    def _spoken(self, text: str, has_file: bool) -> Iterator[bytes]:
        if self.tensor_bug and has_file:
            raise ConnectionResetError("TypeError: Invalid file: tensor")
        text = text.rpartition("<|endofprompt|>")[2]
        # One chunk for each sentence: it is called without stream=True.
        for sentence in re.findall(r"[^.!?。！？]+[.!?。！？]*|[.!?。！？]+", text):
            yield as_pcm(spoken(sentence, self.rate_hz))
