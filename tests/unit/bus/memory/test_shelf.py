import pytest

from legato.bus.memory.alarm import Alarm
from legato.bus.memory.shelf import ITEM_BYTES, Shelf
from legato.errors import Overloaded
from tests.contract.buses import FakeClock

GROUP = ("default", "voice")
BOUND = 2 * (100 + ITEM_BYTES)


def shelf(clock: FakeClock) -> Shelf[str]:
    return Shelf("registry", BOUND, Alarm(clock, lambda: None))


async def test_a_value_that_does_not_fit_is_refused_and_the_old_one_stays(clock: FakeClock) -> None:
    one = shelf(clock)
    one.put(GROUP, "a", "old", size_bytes=100, ttl=None)
    one.put(GROUP, "b", "b", size_bytes=100, ttl=None)
    with pytest.raises(Overloaded, match="the registry would hold"):
        one.put(GROUP, "a", "new", size_bytes=101, ttl=None)
    with pytest.raises(Overloaded):
        one.put(("other",), "c", "c", size_bytes=0, ttl=None)
    assert one.list(GROUP) == {"a": "old", "b": "b"}


async def test_a_value_takes_the_room_of_the_one_it_replaces(clock: FakeClock) -> None:
    one = shelf(clock)
    one.put(GROUP, "a", "1", size_bytes=200, ttl=None)
    one.put(GROUP, "a", "2", size_bytes=150, ttl=None)
    assert (len(one), one.size_bytes) == (1, 150 + ITEM_BYTES)


async def test_what_expires_makes_room_swept_or_not(clock: FakeClock) -> None:
    one = shelf(clock)
    one.put(GROUP, "a", "a", size_bytes=100, ttl=1)
    one.put(GROUP, "b", "b", size_bytes=100, ttl=2)
    assert one.sweep(clock.now) == clock.now + 1
    clock.now += 1
    assert one.get(GROUP, "a") is None
    assert (len(one), one.size_bytes) == (1, 100 + ITEM_BYTES)
    clock.now += 1
    assert one.sweep(clock.now) is None
    assert (len(one), one.size_bytes) == (0, 0)


async def test_replacing_keeps_the_time_to_live(clock: FakeClock) -> None:
    one = shelf(clock)
    one.put(GROUP, "a", "1", size_bytes=1, ttl=2)
    clock.now += 1
    one.replace(GROUP, "a", "2", size_bytes=1)
    assert one.get(GROUP, "a") == "2"
    clock.now += 1
    assert one.get(GROUP, "a") is None


async def test_deleting_makes_room(clock: FakeClock) -> None:
    one = shelf(clock)
    one.put(GROUP, "a", "a", size_bytes=200, ttl=5)
    assert one.delete(GROUP, "a")
    assert not one.delete(GROUP, "a")
    assert (len(one), one.size_bytes, one.sweep(clock.now)) == (0, 0, None)


async def test_a_list_leaves_out_what_has_expired_but_was_not_swept(clock: FakeClock) -> None:
    one = shelf(clock)
    one.put(GROUP, "a", "a", size_bytes=1, ttl=1)
    one.put(GROUP, "b", "b", size_bytes=1, ttl=None)
    clock.now += 1
    assert one.list(GROUP) == {"b": "b"}
    assert one.list(("other",)) == {}
