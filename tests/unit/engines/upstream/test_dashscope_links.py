from legato.engines.upstream.dashscope_links import KEPT, Links
from legato.engines.upstream.websocket import Link


class FakeLink(Link):
    """A connection to nowhere."""

    def __init__(self) -> None:
        self.open = True

    @property
    def is_open(self) -> bool:
        return self.open

    def drop(self) -> None:
        self.open = False


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_an_idle_connection_is_used_again_at_its_own_address() -> None:
    links, a, b = Links(2, Clock()), FakeLink(), FakeLink()
    links.keep("a", a)
    links.keep("b", b)
    assert links.take("c") is None
    assert links.take("a") is a
    assert links.take("a") is None
    assert links.take("b") is b


def test_one_that_was_idle_for_long_is_closed() -> None:
    clock, link = Clock(), FakeLink()
    links = Links(2, clock)
    links.keep("a", link)
    clock.now = KEPT + 0.1
    assert links.take("a") is None
    assert not link.open


def test_one_that_the_other_side_closed_is_not_used() -> None:
    links, link = Links(2, Clock()), FakeLink()
    links.keep("a", link)
    link.open = False
    assert links.take("a") is None


def test_no_more_are_kept_than_there_are_slots() -> None:
    links, kept, surplus = Links(1, Clock()), FakeLink(), FakeLink()
    links.keep("a", kept)
    links.keep("a", surplus)
    assert kept.open
    assert not surplus.open


def test_all_are_closed_at_the_end() -> None:
    links, link = Links(1, Clock()), FakeLink()
    links.keep("a", link)
    links.close()
    assert not link.open
    assert links.take("a") is None
