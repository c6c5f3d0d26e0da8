import resource
from collections.abc import Iterator

import pytest

from legato.bus.records import EngineRecord
from legato.cli.lifetime import allow_open_files, example, holder, page_of, ready_lines


@pytest.mark.parametrize(
    ("url", "option"),
    [
        ("ws://127.0.0.1:8440", ""),
        ("ws://0.0.0.0:8440", ""),
        ("ws://127.0.0.1:8558", " --url ws://127.0.0.1:8558"),
        ("ws://[::]:8440", " --url ws://[::1]:8440"),
        ("wss://0.0.0.0:8440", " --url wss://127.0.0.1:8440"),
    ],
)
def test_the_hint_names_the_address_where_it_must(url: str, option: str) -> None:
    assert example(url) == f'legato say "Hello." -o hello.wav{option}'


@pytest.fixture
def hard_limit() -> Iterator[int]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield before[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_a_server_may_open_as_many_files_as_the_system_lets_it(hard_limit: int) -> None:
    if hard_limit == resource.RLIM_INFINITY:
        pytest.skip("the system sets no limit")
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard_limit))
    for _ in range(2):
        allow_open_files()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard_limit, hard_limit)


HIBARI = EngineRecord(kind="synthesize", name="hibari", state="ready", default=True)
NO_HIBARI = EngineRecord(
    kind="synthesize", name="hibari", state="unavailable", reason="add it with pip", default=True
)
MOONSHINE = EngineRecord(kind="recognize", name="moonshine", state="ready", default=True)
TONE = EngineRecord(kind="synthesize", name="tone", state="ready")
URL = "ws://127.0.0.1:8440"


def test_who_can_speak_is_told_what_to_type() -> None:
    assert ready_lines(1.5, URL, [HIBARI, MOONSHINE]) == [
        'ready after 1.5 s; try: legato say "Hello." -o hello.wav'
    ]
    assert ready_lines(1.5, None, [HIBARI]) == ["ready after 1.5 s"]
    assert ready_lines(1.5, URL, None) == ["ready after 1.5 s"]


@pytest.mark.parametrize(
    ("url", "page"),
    [
        (URL, "http://127.0.0.1:8440/"),
        ("wss://speech.example:443", "https://speech.example:443/"),
        ("ws://0.0.0.0:9000", "http://127.0.0.1:9000/"),
        ("ws://[::]:9000", "http://[::1]:9000/"),
        (None, None),
    ],
)
def test_a_newcomer_is_told_what_to_open(url: str | None, page: str | None) -> None:
    assert page_of(url) == page


def test_what_is_lacking_is_told_and_nothing_is_offered_that_cannot_be() -> None:
    assert ready_lines(1.5, URL, [NO_HIBARI, TONE, MOONSHINE]) == [
        "ready after 1.5 s",
        "without hibari (synthesize): add it with pip",
    ]


def test_nobody_is_told_ready_who_can_do_nothing() -> None:
    sentence = "no engine can be used; put this right and start again:"

    assert ready_lines(1.5, URL, [NO_HIBARI, TONE]) == [
        sentence,
        "hibari (synthesize): add it with pip",
    ]
    assert ready_lines(1.5, URL, []) == [sentence, "worker.engines names none"]


@pytest.mark.parametrize(
    ("readiness", "words"),
    [
        ("ready", "can be used as it is"),
        ("draining", "told to stop"),
        ("engines are loading", "cannot be used: engines are loading"),
    ],
)
def test_who_has_the_port_is_told_as_it_is(readiness: str, words: str) -> None:
    assert words in holder(readiness)
    assert ("can be used as it is" in holder(readiness)) is (readiness == "ready")


def test_of_another_program_nothing_is_said() -> None:
    assert holder(None) == ""
