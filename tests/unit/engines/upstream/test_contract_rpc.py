"""The public contract of synthesizers, kept on stand-ins behind gRPC and Triton."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from legato.engines.base import Synthesizer
from legato.engines.upstream.cosyvoice_grpc import CosyVoiceGrpc
from legato.engines.upstream.triton import CosyVoiceTriton
from legato.testing.engines import SynthesizerContract
from tests.standins.upstream.rpc import CosyVoiceRpc, TritonHttp, TritonRpc
from tests.unit.engines.upstream.stage import prompt


class TestGrpc(SynthesizerContract):
    @pytest.fixture(scope="class")
    @classmethod
    def engine(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Synthesizer]:
        voice = prompt(tmp_path_factory.mktemp("prompts"), "anna")
        with closing(CosyVoiceRpc()) as one, closing(CosyVoiceRpc()) as other:
            engine = CosyVoiceGrpc(urls=[one.url, other.url], streams=2, prompts=[voice])
            engine.load()
            yield engine
            engine.close()


class TestTritonStreaming(SynthesizerContract):
    @pytest.fixture(scope="class")
    @classmethod
    def engine(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Synthesizer]:
        voice = prompt(tmp_path_factory.mktemp("prompts"), "anna")
        with closing(TritonRpc()) as triton:
            engine = CosyVoiceTriton(urls=[triton.url], streams=4, prompts=[voice])
            engine.load()
            yield engine
            engine.close()


class TestTritonWhole(SynthesizerContract):
    @pytest.fixture(scope="class")
    @classmethod
    def engine(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Synthesizer]:
        voice = prompt(tmp_path_factory.mktemp("prompts"), "anna", seconds=1.0)
        with closing(TritonHttp()) as triton:
            engine = CosyVoiceTriton(
                urls=[triton.url], prompts=[voice], mode="cross_lingual", version=2
            )
            engine.load()
            yield engine
            engine.close()
