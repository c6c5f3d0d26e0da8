import json
import logging
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from legato.engines.upstream.openai_speech import OpenAISpeech
from legato.errors import EngineFailed, EngineUnavailable
from tests.standins.upstream.openai import OpenAI
from tests.standins.upstream.web import Trouble
from tests.unit.engines.upstream.stage import REQUEST

KEY = "sk-secret"


@pytest.fixture
def web() -> Iterator[OpenAI]:
    with closing(OpenAI(key=KEY)) as web:
        yield web


def engine(web: OpenAI, folder: Path, *, key: str = KEY, **options: object) -> OpenAISpeech:
    file = folder / "key"
    file.write_text(key)
    given = {"urls": [f"{web.url}/v1/"], "key_file": str(file), "probe_interval": 0, **options}
    made = OpenAISpeech(**given)
    made.load()
    return made


def speak(engine: OpenAISpeech, **more: object) -> bytes:
    request = replace(REQUEST, **more)  # type: ignore[arg-type]  # fields of the request
    return b"".join(chunk.pcm for chunk in engine.synthesize(request, ["Hello."]))


def test_raw_samples_are_asked_for_with_the_servers_name_of_the_voice(
    web: OpenAI, tmp_path: Path
) -> None:
    made = engine(web, tmp_path, voices={"anna": "ash"}, model="kokoro", instructions="softly")
    assert speak(made, voice="anna")
    assert web.asked[-1].path == "/v1/audio/speech"
    assert web.asked[-1].fields == {
        "model": "kokoro",
        "input": "Hello.",
        "voice": "ash",
        "response_format": "pcm",
        "instructions": "softly",
    }


def test_speed_is_the_servers_and_sent_only_where_it_is_wanted(web: OpenAI, tmp_path: Path) -> None:
    made = engine(web, tmp_path)
    assert len(speak(made)) == pytest.approx(2 * len(speak(made, speed=2.0)), rel=0.05)
    sent = [asked.fields.get("speed") for asked in web.asked if asked.method == "POST"]
    assert [speed and json.loads(speed) for speed in sent] == [None, 2.0]


def test_loading_looks_whether_the_server_takes_the_key(web: OpenAI, tmp_path: Path) -> None:
    engine(web, tmp_path)
    assert [(asked.method, asked.path) for asked in web.asked] == [("GET", "/v1/models")]


def test_a_wrong_key_is_the_operators_fault_and_shown_nowhere(
    web: OpenAI, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    made = engine(web, tmp_path, key="sk-wrong")
    with pytest.raises(EngineUnavailable, match="status 401") as caught:
        speak(made)
    assert "sk-wrong" not in caught.value.message + caplog.text
    assert "***" in caught.value.message


def test_what_the_server_says_of_a_bad_request_is_passed_on(web: OpenAI, tmp_path: Path) -> None:
    made = engine(web, tmp_path, voices={"anna": "no such"})
    with pytest.raises(EngineFailed, match="voice no such"):
        speak(made)


def test_a_server_that_sends_mp3_whatever_is_asked_is_told(web: OpenAI, tmp_path: Path) -> None:
    web.troubles.append(Trouble(said=b"ID3", media_type="audio/mpeg"))
    with pytest.raises(EngineFailed, match="audio/mpeg; raw PCM was asked for"):
        speak(engine(web, tmp_path))


def test_there_must_be_a_voice(web: OpenAI, tmp_path: Path) -> None:
    with pytest.raises(EngineUnavailable, match="voices is empty"):
        engine(web, tmp_path, voices={})
