import pickle

import pytest

from legato.errors import (
    CLIENT_ONLY,
    ERRORS,
    LegatoError,
    Overloaded,
    RateLimited,
    ResumeGap,
    SequenceGap,
    UnsupportedText,
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
voice_exists - no
too_many_voices - no
consent_required - no
stream_exists - no
unsupported_option - no
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


@pytest.mark.parametrize("kind", [UnsupportedText, Overloaded, ResumeGap])
def test_facts_that_are_not_known_are_left_out(kind: type[LegatoError]) -> None:
    assert kind().facts() == {}


def from_the_future() -> LegatoError:
    error = LegatoError("speak up", remote=True)
    error.code = "too_quiet"
    return error


@pytest.mark.parametrize("error", [from_the_future(), *(error for error, _ in WITH_FACTS)])
def test_errors_pass_between_processes(error: LegatoError) -> None:
    back = pickle.loads(pickle.dumps(error))
    assert (type(back), back.code, back.message) == (type(error), error.code, error.message)
    assert (back.facts(), back.remote) == (error.facts(), error.remote)


def test_a_fact_that_a_class_does_not_have_is_refused() -> None:
    with pytest.raises(TypeError, match="Overloaded has no fact 'expected'"):
        Overloaded(expected=3)
