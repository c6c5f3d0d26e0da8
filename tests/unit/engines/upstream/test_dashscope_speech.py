import json
import logging
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from legato.engines.upstream.dashscope_speech import DashScopeSpeech, charged
from legato.errors import (
    EngineFailed,
    EngineTimeout,
    EngineUnavailable,
    LegatoError,
    Overloaded,
    UnknownVoice,
)
from tests.standins.upstream.dashscope import DashScope, Trouble
from tests.standins.upstream.sound import as_pcm, spoken
from tests.unit.engines.upstream.stage import REQUEST

TEXT = "Good morning."
KEY = "sk-secret"


@pytest.fixture
def service() -> Iterator[DashScope]:
    with closing(DashScope(KEY)) as service:
        yield service


@pytest.fixture
def other() -> Iterator[DashScope]:
    with closing(DashScope(KEY)) as service:
        yield service


@contextmanager
def engine(
    folder: Path, *services: DashScope, key: str = KEY, **options: object
) -> Iterator[DashScopeSpeech]:
    file = folder / "key"
    file.write_text(key)
    quick = {
        "first_byte_timeout": 1.0,
        "idle_timeout": 0.7,
        "probe_interval": 0,
        "key_file": str(file),
    }
    with closing(
        DashScopeSpeech(**{**quick, "urls": [one.url for one in services], **options})
    ) as made:
        made.load()
        yield made


def speak(engine: DashScopeSpeech, *text: str, **more: object) -> bytes:
    request = replace(REQUEST, **more)  # type: ignore[arg-type]  # fields of the request
    return b"".join(chunk.pcm for chunk in engine.synthesize(request, text or (TEXT,)))


def failure(engine: DashScopeSpeech) -> LegatoError:
    with pytest.raises(LegatoError) as caught:
        speak(engine)
    return caught.value


def test_what_comes_is_what_the_service_said(service: DashScope, tmp_path: Path) -> None:
    with engine(tmp_path, service) as made:
        assert speak(made) == as_pcm(spoken(TEXT, 24_000))


def test_text_streams_into_one_task(service: DashScope, tmp_path: Path) -> None:
    with engine(tmp_path, service, voices={"anna": "longwan_v2"}) as made:
        assert speak(made, "One", "two", "three.", voice="anna", speed=1.5)
    assert service.texts == ["One", "two", "three."]
    (task,) = service.tasks
    assert task["model"] == "cosyvoice-v2"
    parameters = task["parameters"]
    assert (parameters["voice"], parameters["rate"]) == ("longwan_v2", 1.5)
    assert (parameters["format"], parameters["sample_rate"]) == ("pcm", 24_000)


def test_what_is_spoken_comes_before_the_next_piece_is_asked_for(
    service: DashScope, tmp_path: Path
) -> None:
    asked = []

    def text() -> Iterator[str]:
        for piece in ("No full stop", "and more"):
            asked.append(piece)
            yield piece

    with engine(tmp_path, service) as made:
        chunks = made.synthesize(REQUEST, text())
        size = len(as_pcm(spoken("No full stop", 24_000)))
        heard = 0
        while heard < size:
            heard += len(next(chunks).pcm)
        assert asked == ["No full stop"]


def test_an_older_service_that_sends_no_events_is_understood(
    service: DashScope, tmp_path: Path
) -> None:
    service.troubles.append(Trouble(old=True))
    with engine(tmp_path, service) as made:
        assert speak(made, "One.", "Two", "three") == as_pcm(spoken("One.Twothree", 24_000))


def test_a_connection_serves_one_task_after_the_other(service: DashScope, tmp_path: Path) -> None:
    with engine(tmp_path, service) as made:
        for _ in range(3):
            assert speak(made)
    assert (len(service.tasks), service.connections) == (3, 1)


def test_a_kept_connection_that_was_lost_is_made_anew(service: DashScope, tmp_path: Path) -> None:
    with engine(tmp_path, service) as made:
        assert speak(made)
        for link in list(service.links):
            link.close()
        assert speak(made)
        assert service.connections == 2


def test_one_that_is_lost_as_the_task_begins_is_made_anew(
    service: DashScope, tmp_path: Path
) -> None:
    with engine(tmp_path, service) as made:
        assert speak(made)
        service.troubles.append(Trouble(gone=True))
        assert speak(made)
        assert service.connections == 2


def test_a_kept_connection_does_not_hide_what_the_service_says(
    service: DashScope, tmp_path: Path
) -> None:
    with engine(tmp_path, service) as made:
        assert speak(made)
        message = json.dumps(
            {
                "header": {"event": "task-failed", "task_id": "{id}", "error_code": "Throttling"},
                "payload": {},
            }
        )
        service.troubles.append(Trouble(before_start=(message,)))
        assert type(failure(made)) is Overloaded
        assert service.connections == 1


FAILED = {
    ("InvalidApiKey", "no"): EngineUnavailable,
    ("Arrearage", "pay first"): EngineUnavailable,
    ("Throttling.RateQuota", "slower"): Overloaded,
    ("ModelNotFound", "no"): EngineUnavailable,
    ("InvalidParameter", "text"): EngineFailed,
    ("CLIENT_ERROR", "request timeout after 23 seconds."): EngineFailed,
    ("InternalError.Algo", "oh"): EngineFailed,
    ("SomethingNew", "oh"): EngineFailed,
}


@pytest.mark.parametrize("failed", FAILED)
def test_a_task_that_failed_becomes_one_of_our_codes(
    failed: tuple[str, str], service: DashScope, tmp_path: Path
) -> None:
    service.troubles.append(Trouble(fail=failed))
    with engine(tmp_path, service) as made:
        error = failure(made)
    assert type(error) is FAILED[failed]
    assert failed[0] in error.message
    assert failed[1] in error.message


def event(name: str, task: str = "{id}") -> str:
    return json.dumps({"header": {"event": name, "task_id": task}, "payload": {}})


@pytest.mark.parametrize(
    "message",
    [
        b"\0\0",
        event("result-generated"),
        event("task-finished"),
        event("task-started", "another"),
        "no JSON",
        "[]",
    ],
)
def test_events_out_of_order_are_a_fault(
    message: str | bytes, service: DashScope, tmp_path: Path
) -> None:
    service.troubles.append(Trouble(before_start=(message,)))
    with engine(tmp_path, service) as made:
        assert type(failure(made)) is EngineFailed


def test_a_task_that_is_begun_twice_is_a_fault(service: DashScope, tmp_path: Path) -> None:
    service.troubles.append(Trouble(before_start=(event("task-started"),)))
    with engine(tmp_path, service) as made:
        assert "out of order" in failure(made).message


@pytest.mark.parametrize(
    ("trouble", "error"),
    [
        (Trouble(mute=True), EngineFailed),
        (Trouble(close_after=0), EngineFailed),
        (Trouble(close_after=1), EngineFailed),
        (Trouble(hang_after=0), EngineTimeout),
        (Trouble(hang_after=1), EngineTimeout),
    ],
)
def test_silence_and_lost_connections_are_no_end(
    trouble: Trouble, error: type[LegatoError], service: DashScope, tmp_path: Path
) -> None:
    service.troubles.append(trouble)
    with engine(tmp_path, service) as made:
        assert type(failure(made)) is error


def test_before_the_first_sample_another_address_is_tried(
    service: DashScope, other: DashScope, tmp_path: Path
) -> None:
    service.troubles.append(Trouble(close_after=0))
    with engine(tmp_path, service, other) as made:
        assert speak(made, "One.", "Two.") == as_pcm(spoken("One.Two.", 24_000))
    assert other.texts == ["One.", "Two."]


def test_after_it_none_is(service: DashScope, other: DashScope, tmp_path: Path) -> None:
    service.troubles.append(Trouble(close_after=1))
    with engine(tmp_path, service, other) as made:
        failure(made)
    assert other.tasks == []


def test_a_wrong_key_is_told_without_it(
    service: DashScope, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with engine(tmp_path, service, key="sk-wrong") as made:
        error = failure(made)
    assert type(error) is EngineUnavailable
    assert "Invalid API-key" in error.message
    assert "sk-wrong" not in error.message + caplog.text


def test_a_busy_service_says_when_to_come_back(service: DashScope, tmp_path: Path) -> None:
    service.refusals.append((429, {"Retry-After": "9"}))
    with engine(tmp_path, service) as made:
        error = failure(made)
    assert (type(error), error.retry_after) == (Overloaded, 9.0)


def test_a_closed_stream_closes_its_connection(service: DashScope, tmp_path: Path) -> None:
    with engine(tmp_path, service) as made:
        chunks = made.synthesize(REQUEST, ["word " * 300])
        next(chunks)
        chunks.close()  # type: ignore[attr-defined]  # every engine's iterator has it
        assert service.closed.acquire(timeout=5)


def test_without_a_key_it_cannot_be_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("DASHSCOPE_API_KEY", raising=False)
    with pytest.raises(EngineUnavailable, match="DASHSCOPE_API_KEY"):
        DashScopeSpeech().check()
    with pytest.raises(EngineUnavailable, match="there is no key"):
        DashScopeSpeech(key_env="").check()
    monkeypatch.setenv("DASHSCOPE_API_KEY", KEY)
    DashScopeSpeech().check()
    with pytest.raises(EngineUnavailable, match="voices is empty"):
        DashScopeSpeech(voices={}).check()


def test_a_voice_that_is_not_mapped_is_unknown(service: DashScope, tmp_path: Path) -> None:
    with engine(tmp_path, service) as made, pytest.raises(UnknownVoice, match="longxiaochun"):
        speak(made, voice="alloy")


def test_an_ideograph_is_charged_as_two_characters() -> None:
    assert charged("你好, ok!") == 4 + 5
