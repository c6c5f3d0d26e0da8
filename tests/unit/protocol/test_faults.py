import pytest

from legato.errors import (
    ERRORS,
    BadAudio,
    ConnectionLost,
    EngineFailed,
    Internal,
    LegatoError,
    Overloaded,
    ResumeGap,
    SequenceGap,
    UnsupportedText,
)
from legato.protocol.faults import error_from, error_message, from_wire
from legato.protocol.messages import Error


@pytest.mark.parametrize(
    "error",
    [
        BadAudio("5 bytes are not whole samples"),
        Overloaded("no slot", offer={"streaming": False}, retry_after=2.5),
        SequenceGap("7 came after 4", expected=5),
        ResumeGap("lost", missing=(320, 960)),
        ResumeGap("lost"),
        UnsupportedText("cannot speak it", characters="你好"),
    ],
)
def test_an_error_arrives_as_it_was_raised(error: LegatoError) -> None:
    arrived = error_from(error_message(error, 3))

    assert type(arrived) is type(error)
    assert arrived.message == error.message
    assert arrived.retry_after == error.retry_after
    assert arrived.retryable == error.retryable
    assert arrived.facts() == error.facts()
    assert arrived.remote


@pytest.mark.parametrize("code", sorted(ERRORS))
def test_every_code_arrives_as_its_class(code: str) -> None:
    assert type(error_from(error_message(ERRORS[code]()))) is ERRORS[code]


def test_the_stream_is_named_or_the_session_meant() -> None:
    assert error_message(BadAudio(), 7).stream == 7
    assert error_message(BadAudio()).stream is None


@pytest.mark.parametrize("error", [Internal("key=secret"), LegatoError("key=secret")])
def test_a_bug_shows_no_details(error: LegatoError) -> None:
    message = error_message(error, 1)

    assert message.code == "internal"
    assert "secret" not in message.message
    assert message.message == Internal.advice


def test_a_sentence_that_quotes_too_much_is_cut() -> None:
    assert len(error_message(BadAudio("x" * 5000)).message) == 1000


def test_a_client_only_error_never_travels() -> None:
    message = error_message(ConnectionLost("redis at 10.0.0.7"))

    assert message.code == "internal"
    assert "10.0.0.7" not in message.message


def test_a_code_of_a_newer_peer_keeps_its_name_and_judgement() -> None:
    arrived = error_from(Error(code="too_noisy", message="Speak up.", retryable=True))

    assert type(arrived) is LegatoError
    assert (arrived.code, arrived.message, arrived.retryable) == ("too_noisy", "Speak up.", True)
    assert error_message(arrived).code == "too_noisy"


def test_the_peer_decides_whether_a_retry_may_help() -> None:
    poison = EngineFailed("died three times on this text")
    poison.retryable = False

    assert EngineFailed().retryable
    assert not error_from(error_message(poison)).retryable


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
