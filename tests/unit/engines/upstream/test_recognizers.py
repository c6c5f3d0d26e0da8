"""Recognition elsewhere: faults, and what is sent."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from legato.audio import AudioChunk, AudioFormat
from legato.engines.base import Checkpoint
from legato.engines.upstream.dashscope_recognition import DashScopeRecognition
from legato.engines.upstream.openai_transcription import OpenAITranscription
from legato.errors import EngineFailed, EngineUnavailable, LegatoError, Overloaded
from legato.speech import Endpointing, RecognitionRequest, Transcript
from tests.standins.upstream.dashscope import DashScope, Trouble
from tests.standins.upstream.openai import OpenAI
from tests.standins.upstream.web import Trouble as WebTrouble
from tests.unit.engines.recordings import beckett_pcm
from tests.unit.engines.upstream.stage import utterances

FORM = AudioFormat(16_000)
KEY = "sk-secret"


@pytest.fixture
def service() -> Iterator[DashScope]:
    with closing(DashScope(KEY)) as service:
        yield service


@pytest.fixture
def key(tmp_path: Path) -> str:
    file = tmp_path / "key"
    file.write_text(KEY)
    return str(file)


def hear(
    engine: DashScopeRecognition | OpenAITranscription, pcm: bytes, **request: object
) -> list[Transcript]:
    wanted = RecognitionRequest(format=FORM, **request)  # type: ignore[arg-type]  # its fields
    size = FORM.frame_bytes(0.1)
    audio = (
        AudioChunk(pcm[at : at + size], FORM, at // FORM.sample_bytes)
        for at in range(0, len(pcm), size)
    )
    with closing(engine):
        engine.load()
        results = list(engine.recognize(wanted, audio))
    return [one for one in results if not isinstance(one, Checkpoint)]


def test_what_dashscope_writes_comes_with_its_times(service: DashScope, key: str) -> None:
    engine = DashScopeRecognition(urls=[service.url], key_file=key)
    finals = [one for one in hear(engine, utterances(FORM)) if one.final]
    assert [FORM.seconds(one.start) for one in finals] == pytest.approx([0.0, 2.2, 4.4], abs=0.1)
    assert [FORM.seconds(one.end - one.start) for one in finals] == pytest.approx(
        [1.2] * 3, abs=0.11
    )


def test_what_is_wanted_of_dashscope_is_in_its_terms(service: DashScope, key: str) -> None:
    engine = DashScopeRecognition(urls=[service.url], key_file=key, vocabulary_id="v-1")
    hear(engine, b"", language="zh-CN", endpointing=Endpointing(silence=0.05))
    (task,) = service.tasks
    assert task["task"] == "asr"
    assert task["parameters"] == {
        "format": "pcm",
        "sample_rate": 16_000,
        "heartbeat": True,
        "max_sentence_silence": 200,
        "language_hints": ["zh"],
        "vocabulary_id": "v-1",
    }


@pytest.mark.parametrize(
    ("code", "error"), [("Throttling", Overloaded), ("InternalError", EngineFailed)]
)
def test_a_task_that_failed_becomes_one_of_our_codes(
    code: str, error: type[LegatoError], service: DashScope, key: str
) -> None:
    service.troubles.append(Trouble(fail=(code, "oh")))
    engine = DashScopeRecognition(urls=[service.url], key_file=key)
    with pytest.raises(LegatoError, match=code) as caught:
        hear(engine, utterances(FORM))
    assert type(caught.value) is error


def test_a_wrong_key_is_told(service: DashScope, tmp_path: Path) -> None:
    file = tmp_path / "wrong"
    file.write_text("sk-wrong")
    with pytest.raises(EngineUnavailable, match="401"):
        hear(DashScopeRecognition(urls=[service.url], key_file=str(file)), utterances(FORM))


def test_each_segment_is_one_request_to_openai() -> None:
    with closing(OpenAI()) as web:
        heard = hear(OpenAITranscription(urls=[f"{web.url}/v1"]), beckett_pcm(), language="en-US")
        asked = [one for one in web.asked if one.method == "POST"]
    assert len(heard) == len(asked) > 1
    assert all(one.final and one.text.endswith("seconds of speech") for one in heard)
    assert {one.language for one in heard} == {"en-US"}
    assert asked[0].fields == {"model": "whisper-1", "response_format": "json", "language": "en"}


@pytest.mark.parametrize("said", [b"no JSON", b"[]", b'{"words":[]}', b""])
def test_an_answer_that_is_no_transcription_is_a_fault(said: bytes) -> None:
    with closing(OpenAI()) as web:
        web.troubles.append(WebTrouble(said=said))
        with pytest.raises(EngineFailed):
            hear(OpenAITranscription(urls=[f"{web.url}/v1"]), beckett_pcm())


def test_a_segment_is_transcribed_elsewhere_if_a_server_fails() -> None:
    with closing(OpenAI()) as web, closing(OpenAI()) as other:
        web.troubles.extend([WebTrouble(status=500, said=b"")] * 2)
        urls = [f"{web.url}/v1", f"{other.url}/v1"]
        assert len(hear(OpenAITranscription(urls=urls), beckett_pcm())) > 1
