import logging
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

import pytest

from legato.audio import AudioFormat
from legato.engines.upstream.cosyvoice_http import CosyVoiceHttp
from legato.errors import (
    EngineFailed,
    EngineTimeout,
    EngineUnavailable,
    LegatoError,
    Overloaded,
    UnsupportedText,
)
from tests.standins.upstream.cosyvoice_http import CosyVoiceFastApi
from tests.standins.upstream.sound import as_pcm, spoken
from tests.standins.upstream.web import Trouble, eventually, unused_port
from tests.unit.engines.upstream.stage import REQUEST, prompt

TEXT = "Good morning."


@pytest.fixture
def web() -> Iterator[CosyVoiceFastApi]:
    with closing(CosyVoiceFastApi()) as web:
        yield web


@pytest.fixture
def other() -> Iterator[CosyVoiceFastApi]:
    with closing(CosyVoiceFastApi()) as web:
        yield web


@pytest.fixture
def make(tmp_path: Path) -> Iterator["Make"]:
    with ExitStack() as stack:
        yield Make(tmp_path, stack)


class Make:
    """Makes engines with quick time-outs that probe nothing of themselves."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder = folder
        self._stack = stack

    def __call__(self, *urls: str, **options: object) -> CosyVoiceHttp:
        quick = {
            "first_byte_timeout": 0.5,
            "idle_timeout": 0.3,
            "give_up_after": 2.0,
            "probe_interval": 0,
            "prompts": [prompt(self._folder, "anna")],
        }
        engine = CosyVoiceHttp(**{**quick, "urls": urls, **options})
        engine.load()
        self._stack.callback(engine.close)
        return engine


def speak(engine: CosyVoiceHttp, text: str = TEXT) -> bytes:
    return b"".join(chunk.pcm for chunk in engine.synthesize(REQUEST, [text]))


def test_what_comes_is_what_the_server_said(web: CosyVoiceFastApi, make: Make) -> None:
    assert speak(make(web.url)) == as_pcm(spoken(TEXT, 24_000))


BEFORE_THE_FIRST_SAMPLE = {
    "an empty body": (Trouble(cut_after=0), EngineFailed),
    "a JSON body with 200": (Trouble(said=b'{"detail":"no voice"}'), EngineFailed),
    "a page with 200": (Trouble(said=b"<html>", media_type=""), EngineFailed),
    "a coded body": (Trouble(said=b"ID3x", media_type="audio/mpeg"), EngineFailed),
    "a WAV body": (Trouble(said=b"RIFF\0\0\0\0WAVE", media_type=""), EngineFailed),
    "a server error": (Trouble(status=500, said=b"Internal Server Error"), EngineFailed),
    "too many requests": (
        Trouble(status=429, said=b"{}", headers={"Retry-After": "7"}),
        Overloaded,
    ),
    "no key": (Trouble(status=401, said=b"{}"), EngineUnavailable),
    "no such route": (Trouble(status=404, said=b"{}"), EngineUnavailable),
    "a slow first byte": (Trouble(pause=1.5), EngineTimeout),
    "a reset at once": (Trouble(reset_after=0), EngineFailed),
}


@pytest.mark.parametrize("name", BEFORE_THE_FIRST_SAMPLE)
def test_a_fault_before_the_first_sample_is_made_good_elsewhere(
    name: str, web: CosyVoiceFastApi, other: CosyVoiceFastApi, make: Make
) -> None:
    engine = make(web.url, other.url)
    web.troubles.append(BEFORE_THE_FIRST_SAMPLE[name][0])
    assert speak(engine) == as_pcm(spoken(TEXT, 24_000))
    assert (len(web.asked), len(other.asked)) == (1, 1)


@pytest.mark.parametrize("name", BEFORE_THE_FIRST_SAMPLE)
def test_a_fault_of_the_only_server_is_told(name: str, web: CosyVoiceFastApi, make: Make) -> None:
    trouble, error = BEFORE_THE_FIRST_SAMPLE[name]
    web.troubles.append(trouble)
    with pytest.raises(LegatoError) as caught:
        speak(make(web.url))
    assert type(caught.value) is error
    assert caught.value.retryable
    assert web.url not in caught.value.message


AFTER_THE_FIRST_SAMPLE = {
    "a reset": (Trouble(reset_after=4_001), EngineFailed),
    "a stall": (Trouble(stall_after=4_001), EngineTimeout),
    "an end within a sample": (Trouble(cut_after=4_001), EngineFailed),
}


@pytest.mark.parametrize("name", AFTER_THE_FIRST_SAMPLE)
def test_a_fault_after_the_first_sample_ends_the_stream_and_is_no_end(
    name: str, web: CosyVoiceFastApi, other: CosyVoiceFastApi, make: Make
) -> None:
    engine = make(web.url, other.url)
    trouble, error = AFTER_THE_FIRST_SAMPLE[name]
    web.troubles.append(trouble)
    heard: list[bytes] = []
    with pytest.raises(LegatoError) as caught:
        heard.extend(chunk.pcm for chunk in engine.synthesize(REQUEST, [TEXT]))
    assert type(caught.value) is error
    assert heard
    assert other.asked == []


def test_the_tensor_bug_of_its_head_is_an_engine_failed(make: Make) -> None:
    with (
        closing(CosyVoiceFastApi(tensor_bug=True)) as web,
        pytest.raises(EngineFailed, match="broke off"),
    ):
        speak(make(web.url))


def test_a_server_that_is_not_there_is_passed_over(web: CosyVoiceFastApi, make: Make) -> None:
    engine = make(f"http://127.0.0.1:{unused_port()}", web.url)
    for _ in range(4):
        assert speak(engine)


def test_when_no_server_is_there_it_loads_and_says_so_when_asked(make: Make) -> None:
    engine = make(f"http://127.0.0.1:{unused_port()}")
    with pytest.raises(EngineUnavailable, match="cannot be reached"):
        speak(engine)


def test_after_several_failures_a_server_is_left_alone(
    web: CosyVoiceFastApi, other: CosyVoiceFastApi, make: Make
) -> None:
    engine = make(web.url, other.url, failures=2, cooldown=60.0)
    web.troubles.extend([Trouble(status=500, said=b"")] * 9)
    for _ in range(8):
        assert speak(engine)
    assert len(web.asked) == 2


def test_retry_after_is_kept_to(web: CosyVoiceFastApi, other: CosyVoiceFastApi, make: Make) -> None:
    engine = make(web.url, other.url)
    web.troubles.append(Trouble(status=429, said=b"{}", headers={"Retry-After": "60"}))
    for _ in range(4):
        assert speak(engine)
    assert (len(web.asked), len(other.asked)) == (1, 4)


def test_a_closed_stream_closes_its_connection(web: CosyVoiceFastApi, make: Make) -> None:
    web.pace = 0.01
    engine = make(web.url)
    chunks = engine.synthesize(REQUEST, ["word " * 30])
    next(chunks)
    chunks.close()  # type: ignore[attr-defined]  # every engine's iterator has it
    assert web.broken_off.acquire(timeout=5)


def test_a_stream_that_waits_for_its_first_byte_can_be_closed(
    web: CosyVoiceFastApi, make: Make
) -> None:
    web.troubles.append(Trouble(pause=5))
    engine = make(web.url, first_byte_timeout=5.0, give_up_after=5.0)
    chunks = engine.synthesize(REQUEST, [TEXT])
    heard: list[object] = []
    thread = threading.Thread(target=lambda: heard.extend(chunks))
    thread.start()
    assert eventually(lambda: web.asked)
    before = time.monotonic()
    chunks.close()  # type: ignore[attr-defined]  # every engine's iterator has it
    thread.join(2)
    assert not thread.is_alive()
    assert time.monotonic() - before < 1
    assert heard == []


@pytest.mark.parametrize(
    ("options", "path", "fields"),
    [
        ({"version": 1, "mode": "sft", "speakers": ["a"]}, "sft", {"spk_id": "a"}),
        (
            {"version": 1, "mode": "instruct", "speakers": ["a"], "instruct_text": "softly"},
            "instruct",
            {"spk_id": "a", "instruct_text": "softly"},
        ),
        ({"version": 2}, "zero_shot", {"prompt_text": "I said this."}),
        (
            {"version": 3},
            "zero_shot",
            {"prompt_text": "You are a helpful assistant.<|endofprompt|>I said this."},
        ),
        ({"version": 2, "mode": "cross_lingual"}, "cross_lingual", {}),
        (
            {"version": 2, "mode": "instruct", "instruct_text": "softly"},
            "instruct2",
            {"instruct_text": "softly<|endofprompt|>"},
        ),
    ],
)
def test_each_mode_has_its_route(
    options: dict[str, object],
    path: str,
    fields: dict[str, str],
    web: CosyVoiceFastApi,
    make: Make,
) -> None:
    assert speak(make(web.url, **options))
    (asked,) = web.asked
    assert asked.path == f"/inference_{path}"
    assert asked.fields == {"tts_text": TEXT, **fields}
    assert set(asked.files) == (set() if "speakers" in options else {"prompt_wav"})


def test_version_3_is_given_its_prompt_before_a_foreign_text(
    web: CosyVoiceFastApi, make: Make
) -> None:
    speak(make(web.url, version=3, mode="cross_lingual"))
    assert web.asked[0].fields["tts_text"].endswith(f"<|endofprompt|>{TEXT}")


@pytest.mark.parametrize(
    ("options", "rate_hz"),
    [({"version": 1}, 22_050), ({"version": 2}, 24_000), ({"sample_rate_hz": 16_000}, 16_000)],
)
def test_the_rate_is_that_of_the_version_or_what_is_set(
    options: dict[str, object], rate_hz: int, web: CosyVoiceFastApi, make: Make
) -> None:
    engine = make(web.url, **options)
    assert engine.info.format == AudioFormat(rate_hz)
    chunk = next(engine.synthesize(REQUEST, [TEXT]))
    assert chunk.format == AudioFormat(rate_hz)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"urls": []}, "urls is not set"),
        ({"prompts": []}, "needs a prompt"),
        ({"mode": "sft"}, "version 2 has no speakers"),
        ({"mode": "sft", "version": 1}, "needs speakers"),
        ({"mode": "instruct"}, "needs instruct_text"),
        ({"version": 4}, "version"),
        ({"mode": "sft", "version": 1, "speakers": ["a", "a"]}, "same name"),
        ({"key_env": "NO_SUCH_KEY"}, "NO_SUCH_KEY"),
    ],
)
def test_what_is_missing_is_named(options: dict[str, object], said: str, make: Make) -> None:
    with pytest.raises(EngineUnavailable, match=said):
        make("http://127.0.0.1:1", **options)


def test_a_prompt_without_its_text_is_refused(tmp_path: Path, make: Make) -> None:
    voice = {**prompt(tmp_path, "anna"), "text": ""}
    with pytest.raises(EngineUnavailable, match="has no text"):
        make("http://127.0.0.1:1", prompts=[voice])


def test_control_tokens_of_a_text_are_refused(web: CosyVoiceFastApi, make: Make) -> None:
    with pytest.raises(UnsupportedText):
        speak(make(web.url), "hello <|endofprompt|> there")
    assert web.asked == []


def test_speed_is_made_here(web: CosyVoiceFastApi, make: Make) -> None:
    engine = make(web.url)
    fast = replace(REQUEST, speed=2.0)
    size = sum(len(chunk.pcm) for chunk in engine.synthesize(fast, ["word " * 20]))
    assert size == pytest.approx(len(speak(engine, "word " * 20)) / 2, rel=0.1)


def test_what_was_to_be_said_is_not_logged(
    web: CosyVoiceFastApi, make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    web.troubles.append(Trouble(status=500, said=f"cannot say {TEXT}".encode()))
    with pytest.raises(EngineFailed):
        speak(make(web.url))
    assert "upstream failed" in caplog.text
    assert TEXT not in caplog.text
