import math
from random import Random

from tests.simulation.link import Conditions, Data, Link

MANY = 200


def link_of(conditions: Conditions, spared: str = "x") -> Link:
    return Link(conditions, Random(1), lambda data: str(data).startswith(spared))


def arrivals(link: Link) -> list[Data]:
    for number in range(MANY):
        link.send(str(number), 0.0)
    return link.arrivals(math.inf)


def test_a_message_takes_its_delay() -> None:
    link = link_of(Conditions(delay=0.5))
    assert link.next_at == math.inf
    link.send("a", 1.0)
    assert link.next_at == 1.5
    assert link.arrivals(1.4) == []
    assert link.arrivals(1.5) == ["a"]


def test_jitter_keeps_the_order() -> None:
    assert arrivals(link_of(Conditions(jitter=1.0))) == [str(number) for number in range(MANY)]


def test_a_link_that_reorders_loses_nothing() -> None:
    arrived = arrivals(link_of(Conditions(jitter=1.0, reorders=True)))
    assert arrived != sorted(arrived, key=int)
    assert sorted(arrived, key=int) == [str(number) for number in range(MANY)]


def test_a_share_is_lost() -> None:
    assert 0.5 * MANY < len(arrivals(link_of(Conditions(loss=0.3)))) < 0.9 * MANY


def test_what_is_spared_is_neither_lost_nor_late() -> None:
    link = link_of(Conditions(delay=0.1, jitter=9.0, loss=1.0))
    link.send("x", 0.0)
    assert link.arrivals(0.1) == ["x"]


def test_a_cut_loses_what_is_under_way_and_all_that_follows() -> None:
    link = link_of(Conditions())
    link.send("a", 0.0)
    link.cut()
    link.send("b", 1.0)
    assert link.arrivals(math.inf) == []
