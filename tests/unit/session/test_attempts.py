import pytest

from legato.errors import BusUnavailable, RateLimited, SessionExpired
from legato.session.attempts import Attempts


def test_as_many_may_wait_as_there_may_be_streams() -> None:
    attempts = Attempts(3)
    for number in (1, 2, 2):
        attempts.ask(number)
    with pytest.raises(RateLimited, match="3 resumes"):
        attempts.ask(4)


def test_what_is_granted_or_fails_for_another_reason_leaves_room() -> None:
    attempts = Attempts(2)
    for _ in range(10):
        attempts.ask(1)
        attempts.ask(1)
        attempts.answer(1)
        attempts.answer(1, BusUnavailable())


def test_resumes_that_name_no_stream_add_up() -> None:
    attempts = Attempts(2)
    for number in (1, 2):
        attempts.ask(number)
        attempts.answer(number, SessionExpired())
    with pytest.raises(RateLimited):
        attempts.ask(3)


def test_an_answer_to_something_else_does_not_count() -> None:
    attempts = Attempts(1)
    attempts.answer(1, SessionExpired())
    attempts.ask(1)
