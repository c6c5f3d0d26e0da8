"""The public contract of recognizers, kept with a transcription server elsewhere."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from legato.audio import AudioFormat
from legato.engines.base import Recognizer
from legato.engines.upstream.openai_transcription import OpenAITranscription
from legato.testing.engines import RecognizerContract
from tests.standins.upstream.openai import OpenAI
from tests.unit.engines.recordings import beckett_pcm


class TestTranscription(RecognizerContract):
    @classmethod
    def speech(cls, pcm: AudioFormat) -> bytes:
        return beckett_pcm()

    @pytest.fixture(scope="class")
    @classmethod
    def engine(cls) -> Iterator[Recognizer]:
        with closing(OpenAI()) as web:
            engine = OpenAITranscription(urls=[f"{web.url}/v1"])
            engine.load()
            yield engine
            engine.close()
