import pytest

from legato.errors import RateLimited
from legato.flow.credit import Credit, Window


def test_without_a_limit_everything_is_allowed() -> None:
    assert Credit().allows(10**12)


def test_credit_allows_up_to_its_limit() -> None:
    credit = Credit(100)
    assert credit.allows(100)
    assert not credit.allows(101)


def test_a_grant_raises_the_limit() -> None:
    credit = Credit()
    credit.grant(5)
    credit.grant(7)
    assert credit.limit == 7


@pytest.mark.parametrize("limit", [None, 4])
def test_an_older_grant_changes_nothing(limit: int | None) -> None:
    credit = Credit(5)
    credit.grant(limit)
    assert credit.limit == 5


def test_a_window_grants_its_size_beyond_what_is_consumed() -> None:
    window = Window(10)
    window.consume(3)
    assert window.limit == 13


def test_consumption_never_goes_back() -> None:
    window = Window(10)
    window.consume(3)
    window.consume(2)
    assert window.consumed == 3


def test_no_more_may_come_than_was_granted() -> None:
    window = Window(10)
    window.received = 10
    window.check()
    window.received = 11
    with pytest.raises(RateLimited, match="11 sent, 10 allowed"):
        window.check()
