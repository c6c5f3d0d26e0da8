"""The public contract, kept on a stand-in of DashScope."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from legato.audio import AudioFormat
from legato.engines.base import Recognizer, Synthesizer
from legato.engines.upstream.dashscope_recognition import DashScopeRecognition
from legato.engines.upstream.dashscope_speech import DashScopeSpeech
from legato.testing.engines import RecognizerContract, SynthesizerContract
from tests.standins.upstream.dashscope import DashScope
from tests.unit.engines.upstream.stage import utterances


@pytest.fixture(scope="class")
def key(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("key") / "key"
    file.write_text("sk-secret\n")
    return str(file)


class TestSpeech(SynthesizerContract):
    @pytest.fixture(scope="class")
    @classmethod
    def engine(cls, key: str) -> Iterator[Synthesizer]:
        with closing(DashScope()) as service:
            engine = DashScopeSpeech(
                urls=[service.url],
                key_file=key,
                voices={"longxiaochun": "longxiaochun_v2", "alloy": "longwan_v2"},
            )
            engine.load()
            yield engine
            engine.close()


class TestRecognition(RecognizerContract):
    model = "paraformer-realtime-v2"

    @classmethod
    def speech(cls, pcm: AudioFormat) -> bytes:
        return utterances(pcm)

    @pytest.fixture(scope="class")
    @classmethod
    def engine(cls, key: str) -> Iterator[Recognizer]:
        with closing(DashScope()) as service:
            engine = DashScopeRecognition(urls=[service.url], key_file=key, model=cls.model)
            engine.load()
            yield engine
            engine.close()


class TestGummy(TestRecognition):
    model = "gummy-realtime-v1"
