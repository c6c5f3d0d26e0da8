from legato.bus.memory.alarm import Alarm
from legato.bus.memory.tombstones import LIFETIME, Tombstones
from tests.contract.buses import FakeClock, stream


async def test_a_mark_stands_for_its_lifetime_whether_swept_or_not() -> None:
    tombstones = Tombstones(Alarm(FakeClock(), lambda: None))
    tombstones.add(stream(), 0.0)
    assert tombstones.cover(stream(), LIFETIME - 1)
    assert not tombstones.cover(stream(), LIFETIME)
    assert tombstones.sweep(LIFETIME - 1) == LIFETIME
    assert len(tombstones) == 1
    assert tombstones.sweep(LIFETIME) is None
    assert len(tombstones) == 0


async def test_a_mark_covers_one_key_of_one_tenant() -> None:
    tombstones = Tombstones(Alarm(FakeClock(), lambda: None))
    tombstones.add(stream("bc", tenant="a"), 0.0)
    assert not tombstones.cover(stream("c", tenant="ab"), 1.0)
    assert not tombstones.cover(stream("bc", tenant="b"), 1.0)


async def test_a_mark_can_be_taken_away() -> None:
    tombstones = Tombstones(Alarm(FakeClock(), lambda: None))
    tombstones.add(stream(), 0.0)
    tombstones.discard(stream())
    tombstones.discard(stream("s2"))
    assert not tombstones.cover(stream(), 1.0)
