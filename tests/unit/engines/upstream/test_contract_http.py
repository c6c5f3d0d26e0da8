"""The public contract of synthesizers, kept on stand-ins behind HTTP."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from legato.engines.base import Synthesizer
from legato.engines.upstream.cosyvoice_http import CosyVoiceHttp
from legato.engines.upstream.openai_speech import OpenAISpeech
from legato.testing.engines import SynthesizerContract
from tests.standins.upstream.cosyvoice_http import CosyVoiceFastApi
from tests.standins.upstream.openai import OpenAI
from tests.unit.engines.upstream.stage import prompt


class TestCosyVoiceHttp(SynthesizerContract):
    @pytest.fixture(scope="class")
    @classmethod
    def engine(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Synthesizer]:
        folder = tmp_path_factory.mktemp("prompts")
        with closing(CosyVoiceFastApi()) as one, closing(CosyVoiceFastApi()) as other:
            engine = CosyVoiceHttp(
                urls=[one.url, other.url], streams=2, prompts=[prompt(folder, "anna")]
            )
            engine.load()
            yield engine
            engine.close()


class TestVersion1(SynthesizerContract):
    @pytest.fixture(scope="class")
    @classmethod
    def engine(cls) -> Iterator[Synthesizer]:
        with closing(CosyVoiceFastApi(rate_hz=22_050)) as web:
            engine = CosyVoiceHttp(
                urls=[web.url], streams=2, version=1, mode="sft", speakers=["中文女", "英文男"]
            )
            engine.load()
            yield engine
            engine.close()


class TestOpenAI(SynthesizerContract):
    @pytest.fixture(scope="class")
    @classmethod
    def engine(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Synthesizer]:
        key = Path(tmp_path_factory.mktemp("key"), "key")
        key.write_text("sk-secret\n")
        with closing(OpenAI(key="sk-secret")) as web:
            engine = OpenAISpeech(
                urls=[f"{web.url}/v1"],
                key_file=str(key),
                voices={"alloy": "alloy", "longxiaochun": "ash"},
            )
            engine.load()
            yield engine
            engine.close()
