import pickle

import pytest

from legato.errors import (
    CLIENT_ONLY,
    ERRORS,
    BadAudio,
    ConnectionLost,
    LegatoError,
    Overloaded,
    RateLimited,
    ResumeGap,
    SequenceGap,
    UnsupportedText,
    from_wire,
)

WITH_FACTS: list[tuple[LegatoError, dict[str, object]]] = [
    (UnsupportedText("no", characters="你好"), {"characters": "你好"}),
    (Overloaded("no", offer={"streaming": False}), {"offer": {"streaming": False}}),
    (SequenceGap("no", expected=7), {"expected": 7}),
    (ResumeGap("no", missing=(320, 640)), {"missing": [320, 640]}),
]

# Code, close code and whether a retry may help: published, so that it never changes.
PUBLISHED = """
malformed_message 4400 no
unexpected_message 4400 no
unsupported_version 4400 no
message_too_large 1009 no
unauthenticated 4401 no
forbidden 4403 no
unknown_voice - no
unknown_engine - no
unsupported_format - no
unsupported_text - no
text_too_long - no
bad_audio - no
stream_exists - no
overloaded 4503 yes
rate_limited 4429 yes
slow_consumer 4408 yes
sequence_gap - yes
session_expired 4404 no
resume_gap - no
session_replaced 4409 no
idle_timeout 4410 no
draining 1012 yes
engine_failed - yes
engine_timeout - yes
engine_unavailable - yes
bus_unavailable - yes
epoch_changed - yes
internal 1011 no
"""


def concrete(base: type[LegatoError] = LegatoError) -> set[type[LegatoError]]:
    """The classes of the module that have a code; errors of other packages never travel."""
    kinds = [kind for kind in base.__subclasses__() if kind.__module__ == LegatoError.__module__]
    return {kind for kind in kinds if "code" in vars(kind)}.union(*map(concrete, kinds))


def test_the_table_of_codes_is_append_only() -> None:
    rows = [
        f"{code} {kind.close_code or '-'} {'yes' if kind.retryable else 'no'}"
        for code, kind in ERRORS.items()
    ]
    published = PUBLISHED.split("\n")[1:-1]
    assert rows[: len(published)] == published


def test_every_error_with_a_code_travels_or_is_declared_not_to() -> None:
    assert concrete() == {*ERRORS.values(), *CLIENT_ONLY}
    assert all(kind.code == code for code, kind in ERRORS.items())


@pytest.mark.parametrize("kind", [*ERRORS.values(), *CLIENT_ONLY])
def test_every_error_says_what_it_is_and_what_to_do(kind: type[LegatoError]) -> None:
    assert (kind.__doc__ or "").strip()
    assert kind.advice.endswith(".")
    assert kind().message == kind.advice


def test_close_codes_are_in_the_ranges_of_rfc_6455() -> None:
    closing = {kind.close_code for kind in ERRORS.values()} - {None}
    assert all(code in (1009, 1011, 1012) or 4000 <= code <= 4999 for code in closing if code)


def test_an_error_knows_its_message_and_when_to_come_back() -> None:
    error = RateLimited("slower", retry_after=0.5)
    assert (str(error), error.message) == ("slower", "slower")
    assert (error.retry_after, error.remote, error.facts()) == (0.5, False, {})


@pytest.mark.parametrize(("error", "facts"), WITH_FACTS)
def test_facts_travel_with_the_code(error: LegatoError, facts: dict[str, object]) -> None:
    assert error.facts() == facts
    back = from_wire(error.code, error.message, facts=facts)
    assert type(back) is type(error)
    assert (back.facts(), back.message, back.remote) == (facts, "no", True)


@pytest.mark.parametrize("kind", [UnsupportedText, Overloaded, ResumeGap])
def test_facts_that_are_not_known_are_left_out(kind: type[LegatoError]) -> None:
    assert kind().facts() == {}


def test_the_missing_range_is_a_pair_of_numbers_again() -> None:
    error = from_wire("resume_gap", "gone", facts={"missing": [320, 640]})
    assert isinstance(error, ResumeGap)
    assert error.missing == (320, 640)


def test_facts_that_a_class_does_not_know_are_dropped() -> None:
    error = from_wire("bad_audio", "no", facts={"expected": 3, "missing": None})
    assert type(error) is BadAudio
    assert error.facts() == {}


def test_facts_that_are_null_count_as_absent() -> None:
    assert from_wire("sequence_gap", "no", facts={"expected": None}).facts() == {"expected": 0}


def test_a_known_code_brings_its_own_judgement_of_a_retry() -> None:
    error = from_wire("rate_limited", "no", retry_after=2.0, retryable=False)
    assert (error.retryable, error.retry_after, error.remote) == (True, 2.0, True)


def test_a_code_from_the_future_arrives_as_a_plain_error() -> None:
    error = from_wire("too_quiet", "speak up", retryable=True, retry_after=1.0)
    assert type(error) is LegatoError
    assert (error.code, error.message, error.retryable) == ("too_quiet", "speak up", True)
    assert (error.retry_after, error.remote) == (1.0, True)
    assert LegatoError.code == "internal"


def test_what_only_a_client_sees_never_comes_over_the_wire() -> None:
    assert type(from_wire(ConnectionLost.code, "lost")) is LegatoError


@pytest.mark.parametrize(
    "error", [from_wire("too_quiet", "speak up"), *(error for error, _ in WITH_FACTS)]
)
def test_errors_pass_between_processes(error: LegatoError) -> None:
    back = pickle.loads(pickle.dumps(error))
    assert (type(back), back.code, back.message) == (type(error), error.code, error.message)
    assert (back.facts(), back.remote) == (error.facts(), error.remote)


def test_a_fact_that_a_class_does_not_have_is_refused() -> None:
    with pytest.raises(TypeError, match="Overloaded has no fact 'expected'"):
        Overloaded(expected=3)
