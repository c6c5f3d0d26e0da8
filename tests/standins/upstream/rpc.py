"""CosyVoice's gRPC server and Triton's, with their faults."""

from __future__ import annotations

import json
import struct
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import grpc
import numpy as np

from legato.engines.upstream.cosyvoice_pb2 import InferenceRequest, InferenceResponse
from legato.engines.upstream.triton_pb2 import (
    InferRequest,
    InferResponse,
    Parameter,
    StreamInferResponse,
    Tensor,
)
from tests.standins.upstream.sound import as_pcm, spoken
from tests.standins.upstream.web import Asked, Web

CHUNK = 4_000


@dataclass
class Trouble:
    """How one call goes wrong.

    Attributes:
        status: With which it ends, after `after` chunks.
        after: See there.
        mute: Whether it ends at once, as if well.
        hang: Whether nothing comes after `after` chunks.
        error: Of a model on Triton.
    """

    status: grpc.StatusCode | None = None
    after: int = 0
    mute: bool = False
    hang: bool = False
    error: str = ""


class Rpc:
    """A gRPC server on a free port of the loopback.

    Attributes:
        troubles: Of the next calls, one each.
        asked: What clients asked for.
        cancelled: Released for each call whose client went away.
    """

    method: str
    many = False
    rate_hz = 24_000

    def __init__(self) -> None:
        self.troubles: deque[Trouble] = deque()
        self.asked: list[Any] = []
        self.cancelled = threading.Semaphore(0)
        self.over = threading.Event()
        self._server = grpc.server(ThreadPoolExecutor(16), maximum_concurrent_rpcs=4)
        _, service, name = self.method.split("/")
        make = (
            grpc.stream_stream_rpc_method_handler
            if self.many
            else grpc.unary_stream_rpc_method_handler
        )
        handler = make(
            self._call,
            request_deserializer=self.request.FromString,
            response_serializer=lambda message: message.SerializeToString(),
        )
        handlers = grpc.method_handlers_generic_handler(service, {name: handler})
        self._server.add_generic_rpc_handlers((handlers,))
        self.port = self._server.add_insecure_port("127.0.0.1:0")
        self._server.start()

    request: type[Any]

    @property
    def url(self) -> str:
        return f"grpc://127.0.0.1:{self.port}"

    def close(self) -> None:
        self.over.set()
        self._server.stop(0).wait()

    def text(self, request: Any) -> str:
        raise NotImplementedError

    def message(self, audio: np.ndarray | None) -> Any:
        raise NotImplementedError

    def _call(self, request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        request = next(request) if self.many else request
        self.asked.append(request)
        trouble = self.troubles.popleft() if self.troubles else Trouble()
        context.add_callback(self.cancelled.release)
        if trouble.error:
            yield StreamInferResponse(error_message=trouble.error)
        if trouble.mute:
            return
        text = self.text(request).rpartition("<|endofprompt|>")[2]
        audio = spoken(text, self.rate_hz)
        for number, at in enumerate(range(0, len(audio), CHUNK)):
            if number == trouble.after and trouble.hang:
                self.over.wait(5)
            if number == trouble.after and trouble.status is not None:
                context.abort(trouble.status, "said by the server")
            yield self.message(audio[at : at + CHUNK])
        if self.many:
            yield self.message(None)


class CosyVoiceRpc(Rpc):
    """CosyVoice's gRPC server: four calls at once."""

    method = "/cosyvoice.CosyVoice/Inference"
    request = InferenceRequest

    def text(self, request: Any) -> str:
        which = request.WhichOneof("payload")
        text: str = getattr(request, which).tts_text
        return text

    def message(self, audio: np.ndarray | None) -> Any:
        assert audio is not None
        return InferenceResponse(tts_audio=as_pcm(audio))


class TritonRpc(Rpc):
    """Triton's gRPC with a decoupled model: audio in chunks, then a final response without any."""

    method = "/inference.GRPCInferenceService/ModelStreamInfer"
    many = True
    request = InferRequest

    def text(self, request: Any) -> str:
        given = dict(
            zip([one.name for one in request.inputs], request.raw_input_contents, strict=True)
        )
        shapes = {one.name: list(one.shape) for one in request.inputs}
        if "reference_wav" in given:
            (samples,) = struct.unpack("<i", given["reference_wav_len"])
            assert len(given["reference_wav"]) == samples * 4
            assert shapes["reference_wav"] == [1, samples]
        text: str = given["target_text"][4:].decode()
        return text

    def message(self, audio: np.ndarray | None) -> Any:
        response = InferResponse(parameters={"triton_final_response": Parameter()})
        response.parameters["triton_final_response"].bool_param = audio is None
        if audio is not None:
            # Louder than full scale now and then, as models are.
            raw = (audio * 4).astype("<f4").tobytes()
            response.outputs.append(Tensor(name="waveform", datatype="FP32", shape=[1, len(audio)]))
            response.raw_output_contents.append(raw)
        return StreamInferResponse(infer_response=response)


class TritonHttp(Web):
    """Triton's HTTP with a model that is not decoupled."""

    def reply(self, asked: Asked) -> tuple[int, str | None, Iterable[bytes]]:
        if asked.path != "/v2/models/cosyvoice2/infer":
            return 404, "application/json", [b'{"error":"unknown model"}']
        inputs = json.loads(asked.fields["inputs"])
        (text,) = next(one["data"] for one in inputs if one["name"] == "target_text")
        audio = spoken(text, 24_000)
        output = {"name": "waveform", "datatype": "FP32", "shape": [1, len(audio)]}
        body = {"outputs": [{**output, "data": audio.tolist()}]}
        return 200, "application/json", [json.dumps(body).encode()]
