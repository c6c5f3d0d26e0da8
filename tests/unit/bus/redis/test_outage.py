import pytest

from legato.bus.redis.outage import QUIET, Outage


class Watched:
    """An outage with a clock of its own, and what it told."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self.now = 100.0
        self.outage = Outage("box:6379", lambda: self.now)
        self._caplog = caplog

    def told(self) -> list[str]:
        words = ("cannot be reached", "answers again")
        found = [
            next(word for word in words if word in record.getMessage())
            for record in self._caplog.records
        ]
        self._caplog.clear()
        return found


@pytest.fixture
def watched(caplog: pytest.LogCaptureFixture) -> Watched:
    return Watched(caplog)


def test_going_and_coming_back_are_one_line_each(
    watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    watched.outage.here()
    for _ in range(50):
        watched.outage.away()
        watched.now += 0.5
    assert "box:6379" in caplog.text
    assert watched.told() == ["cannot be reached"]
    watched.outage.here()
    assert "25.0" in caplog.text
    assert watched.told() == ["answers again"]


def test_a_server_that_was_never_here_is_not_away(watched: Watched) -> None:
    watched.outage.away()
    watched.outage.here()
    assert watched.told() == []


def test_a_link_that_comes_and_goes_is_told_now_and_then(watched: Watched) -> None:
    watched.outage.here()
    for _ in range(20):
        watched.outage.away()
        watched.outage.here()
        watched.now += QUIET / 20
    assert watched.told() == ["cannot be reached", "answers again"]


def test_an_outage_soon_after_another_is_told_if_it_lasts(watched: Watched) -> None:
    watched.outage.here()
    watched.outage.away()
    watched.outage.here()
    watched.told()
    watched.outage.away()
    assert watched.told() == []
    watched.now += QUIET
    watched.outage.away()
    watched.outage.here()
    assert watched.told() == ["cannot be reached", "answers again"]
