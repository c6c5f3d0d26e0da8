"""The engine `cosyvoice-triton`: CosyVoice on Triton and TensorRT-LLM as an upstream.

Over gRPC it streams, as it must where the model is decoupled; over HTTP each part comes whole.
"""

from __future__ import annotations

import struct
from collections.abc import Generator, Iterator
from functools import lru_cache
from typing import Annotated, Any, Final
from urllib.parse import quote, urlsplit

import msgspec

from legato.engines.cosyvoice import text as texts
from legato.engines.cosyvoice.config import Mode
from legato.engines.upstream import pcm, recording, rpc
from legato.engines.upstream.config import configured
from legato.engines.upstream.cosyvoice import CosyVoiceOptions, CosyVoiceUpstream, Speaker
from legato.engines.upstream.dispatch import Attempt
from legato.engines.upstream.exchange import Request, exchange
from legato.engines.upstream.faults import Fault, Kind
from legato.engines.upstream.triton_pb2 import (
    InferRequest,
    InferResponse,
    Parameter,
    StreamInferResponse,
    Tensor,
)
from legato.errors import EngineUnavailable
from legato.speech import SynthesisRequest

METHOD: Final = "/inference.GRPCInferenceService/ModelStreamInfer"
FINAL: Final = "triton_final_response"
WAVEFORM: Final = "waveform"
MAX_ANSWER_BYTES: Final = 64 << 20

Input = tuple[str, str, list[int], bytes]
"""Name, datatype, shape and raw contents of a tensor."""


class TritonOptions(CosyVoiceOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options of this engine; besides those of `CosyVoiceOptions`.

    Attributes:
        model_name: As Triton has it: cosyvoice2, cosyvoice2_dit or cosyvoice3.
    """

    streams: Annotated[int, msgspec.Meta(ge=1, le=1_000)] = 4
    model_name: Annotated[str, msgspec.Meta(min_length=1, max_length=128)] = "cosyvoice2"


class CosyVoiceTriton(CosyVoiceUpstream):
    """CosyVoice 2 or 3 on Triton.

    Args:
        options: Fields of `TritonOptions`.

    Raises:
        EngineUnavailable: If an option is unknown or wrong.
    """

    name = "cosyvoice-triton"
    schemes = (*rpc.SCHEMES, "http", "https")
    example = "grpc://127.0.0.1:8001"
    modes = frozenset({Mode.ZERO_SHOT, Mode.CROSS_LINGUAL})

    def __init__(self, **options: object) -> None:
        config = configured(self.name, TritonOptions, options)
        self._model_name = config.model_name
        super().__init__(config)

    def check(self) -> None:
        super().check()
        if any(urlsplit(url).scheme in rpc.SCHEMES for url in self._options.urls):
            rpc.check()
        if self._options.version == 1:
            raise EngineUnavailable(f"{self.name}: Triton serves version 2 and 3")

    def load(self) -> None:
        self.check()
        for speaker in self._voices.values():
            if speaker.prompt is not None:
                recording.floats(speaker.prompt.wav)
        super().load()

    def ask(
        self, voice: Speaker, request: SynthesisRequest, part: str, attempt: Attempt[str]
    ) -> Generator[bytes, None, None]:
        inputs = self._inputs(voice, part)
        streamed = urlsplit(attempt.endpoint).scheme in rpc.SCHEMES
        answers = self._streamed(inputs, attempt) if streamed else self._whole(inputs, attempt)
        for raw in answers:
            if raw:
                yield pcm.from_float(raw)

    def forget(self, digest: str) -> None:
        super().forget(digest)
        _listed.cache_clear()

    def _inputs(self, voice: Speaker, part: str) -> list[Input]:
        model = self._options.model
        inputs: list[Input] = []
        text = part
        if voice.is_recorded:
            audio = recording.as_floats(recording.samples_of(voice.prompt, voice.own))
            samples = len(audio) // 4
            said = ""
            if self.mode_of(voice) is Mode.ZERO_SHOT:
                said = texts.zero_shot_prompt(voice.text, model)
            else:
                text = texts.cross_lingual(part, model)
            inputs = [
                ("reference_wav", "FP32", [1, samples], audio),
                ("reference_wav_len", "INT32", [1, 1], struct.pack("<i", samples)),
                ("reference_text", "BYTES", [1, 1], _string(said)),
            ]
        return [*inputs, ("target_text", "BYTES", [1, 1], _string(text))]

    def _streamed(self, inputs: list[Input], attempt: Attempt[str]) -> Iterator[bytes]:
        wanted = InferRequest(
            model_name=self._model_name,
            id="1",
            parameters={"triton_enable_empty_final_response": Parameter(bool_param=True)},
            inputs=[
                Tensor(name=name, datatype=kind, shape=shape) for name, kind, shape, _ in inputs
            ],
            outputs=[Tensor(name=WAVEFORM)],
            raw_input_contents=[raw for *_, raw in inputs],
        )
        answers = rpc.stream(
            attempt,
            METHOD,
            iter((wanted,)),
            StreamInferResponse,
            idle=self._options.idle_timeout,
            many=True,
        )
        for answer in answers:
            if answer.error_message:
                raise Fault(Kind.BROKEN, "the upstream's model failed", words=answer.error_message)
            yield _waveform(answer.infer_response)
            if answer.infer_response.parameters[FINAL].bool_param:
                return
        raise Fault(Kind.BROKEN, "the upstream ends without a final response")

    def _whole(self, inputs: list[Input], attempt: Attempt[str]) -> Iterator[bytes]:
        body: dict[str, Any] = {
            "inputs": [
                {"name": name, "datatype": kind, "shape": shape, "data": _listed(kind, raw)}
                for name, kind, shape, raw in inputs
            ],
            "outputs": [{"name": WAVEFORM, "parameters": {"binary_data": False}}],
        }
        ask = Request(
            url=f"{attempt.endpoint.rstrip('/')}/v2/models/{quote(self._model_name)}/infer",
            headers={"Content-Type": "application/json"},
            body=msgspec.json.encode(body),
            secret=self._secret,
        )
        with exchange(ask, self.timing(attempt), attempt.cancellation) as answer:
            yield _decoded(answer.whole(MAX_ANSWER_BYTES))


def _string(text: str) -> bytes:
    """Return one element of a BYTES tensor: its length and its UTF-8."""
    data = text.encode()
    return struct.pack("<I", len(data)) + data


@lru_cache(maxsize=64)
def _listed(kind: str, raw: bytes) -> msgspec.Raw:
    """Return raw contents as JSON has them; those of a recording are asked for again and again."""
    if kind == "BYTES":
        return msgspec.Raw(msgspec.json.encode([raw[4:].decode()]))
    code = {"FP32": "f", "INT32": "i"}[kind]
    return msgspec.Raw(msgspec.json.encode(struct.unpack(f"<{len(raw) // 4}{code}", raw)))


def _waveform(response: InferResponse) -> bytes:
    for place, tensor in enumerate(response.outputs):
        if tensor.name == WAVEFORM and place < len(response.raw_output_contents):
            if tensor.datatype != "FP32":
                raise Fault(Kind.BROKEN, f"the upstream's waveform is {tensor.datatype}")
            return response.raw_output_contents[place]
    return b""


def _decoded(answer: bytes) -> bytes:
    """Return the waveform of a JSON answer as little-endian float32."""
    try:
        outputs = msgspec.json.decode(answer)["outputs"]
        data = next(one["data"] for one in outputs if one["name"] == WAVEFORM)
        return struct.pack(f"<{len(data)}f", *data)
    except (msgspec.DecodeError, KeyError, TypeError, StopIteration, struct.error) as error:
        raise Fault(Kind.BROKEN, "the upstream's answer has no waveform") from error
