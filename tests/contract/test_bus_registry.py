import pytest

from legato.bus.base import Record
from tests.contract.buses import Rig

VOICE = ("default", "voice", "anna")


async def version(rig: Rig, *, of: tuple[str, str, str] = VOICE) -> int:
    record = await rig.bus.registry.get(*of)
    assert record is not None
    return record.version


async def test_a_record_is_read_as_it_was_written(rig: Rig) -> None:
    assert await rig.bus.registry.get(*VOICE) is None
    assert await rig.bus.registry.put(*VOICE, b"\x00\xff")
    record = await rig.peer.registry.get(*VOICE)
    assert record is not None
    assert record.value == b"\x00\xff"
    assert record.version > 0


async def test_tenants_kinds_and_names_do_not_meet(rig: Rig) -> None:
    places = [("a", "voice", "x"), ("b", "voice", "x"), ("a", "ticket", "x"), ("a", "voice", "y")]
    for n, place in enumerate(places):
        await rig.bus.registry.put(*place, b"%d" % n)
    await rig.bus.registry.delete(*places[0])
    values = [await rig.bus.registry.get(*place) for place in places]
    assert [record and record.value for record in values] == [None, b"1", b"2", b"3"]


async def test_names_with_separators_do_not_meet(rig: Rig) -> None:
    places = [("a:b", "c", "d"), ("a", "b:c", "d"), ("a", "b", "c:d"), ("a/b", "c", "d")]
    for n, place in enumerate(places):
        await rig.bus.registry.put(*place, b"%d" % n)
    values = [await rig.bus.registry.get(*place) for place in places]
    assert [record and record.value for record in values] == [b"0", b"1", b"2", b"3"]


async def test_every_write_has_a_version_of_its_own(rig: Rig) -> None:
    await rig.bus.registry.put(*VOICE, b"1")
    first = await version(rig)
    await rig.bus.registry.put(*VOICE, b"1")
    second = await version(rig)
    await rig.bus.registry.delete(*VOICE)
    await rig.bus.registry.put(*VOICE, b"1")
    assert len({first, second, await version(rig)}) == 3


async def test_a_record_is_written_only_over_the_expected_version(rig: Rig) -> None:
    await rig.bus.registry.put(*VOICE, b"1")
    seen = await version(rig)
    assert await rig.bus.registry.put(*VOICE, b"2", expected=seen)
    assert not await rig.peer.registry.put(*VOICE, b"3", expected=seen)
    record = await rig.bus.registry.get(*VOICE)
    assert record is not None
    assert record.value == b"2"


async def test_expecting_version_zero_writes_only_what_is_not_there(rig: Rig) -> None:
    assert await rig.bus.registry.put(*VOICE, b"1", ttl=rig.tick, expected=0)
    assert not await rig.bus.registry.put(*VOICE, b"2", expected=0)
    await rig.advance(2 * rig.tick)
    assert not await rig.bus.registry.put(*VOICE, b"3", expected=1)
    assert await rig.bus.registry.put(*VOICE, b"3", expected=0)


async def test_a_record_lives_for_its_time(rig: Rig) -> None:
    await rig.bus.registry.put(*VOICE, b"1", ttl=rig.tick)
    await rig.bus.registry.put("default", "voice", "ever", b"2")
    await rig.advance(2 * rig.tick)
    assert await rig.bus.registry.get(*VOICE) is None
    assert await rig.bus.registry.get("default", "voice", "ever") is not None


async def test_a_write_sets_the_time_to_live_anew(rig: Rig) -> None:
    await rig.bus.registry.put(*VOICE, b"1", ttl=2 * rig.tick)
    await rig.bus.registry.put(*VOICE, b"2")
    await rig.bus.registry.put("default", "voice", "bob", b"1")
    await rig.bus.registry.put("default", "voice", "bob", b"2", ttl=2 * rig.tick)
    await rig.advance(3 * rig.tick)
    assert list(await rig.bus.registry.list("default", "voice")) == ["anna"]


async def test_a_refused_write_does_not_change_the_time_to_live(rig: Rig) -> None:
    await rig.bus.registry.put(*VOICE, b"1", ttl=2 * rig.tick)
    assert not await rig.bus.registry.put(*VOICE, b"2", ttl=rig.long, expected=0)
    await rig.advance(3 * rig.tick)
    assert await rig.bus.registry.get(*VOICE) is None


async def test_deleting_tells_whether_there_was_something(rig: Rig) -> None:
    await rig.bus.registry.put(*VOICE, b"1")
    assert await rig.peer.registry.delete(*VOICE)
    assert not await rig.bus.registry.delete(*VOICE)
    await rig.bus.registry.put(*VOICE, b"1", ttl=rig.tick)
    await rig.advance(2 * rig.tick)
    assert not await rig.bus.registry.delete(*VOICE)


async def test_a_list_holds_what_is_alive(rig: Rig) -> None:
    assert await rig.bus.registry.list("default", "voice") == {}
    await rig.bus.registry.put(*VOICE, b"1")
    await rig.bus.registry.put("default", "voice", "bob", b"2", ttl=rig.tick)
    await rig.bus.registry.put("other", "voice", "carl", b"3")
    await rig.bus.registry.put("default", "ticket", "dora", b"4")
    assert sorted(await rig.peer.registry.list("default", "voice")) == ["anna", "bob"]
    await rig.advance(2 * rig.tick)
    seen = await version(rig)
    assert await rig.peer.registry.list("default", "voice") == {"anna": Record(b"1", seen)}


async def test_a_counter_starts_at_zero(rig: Rig) -> None:
    assert await rig.bus.registry.increment("default", "quota", "n") == 1
    assert await rig.peer.registry.increment("default", "quota", "n", by=5) == 6
    assert await rig.bus.registry.increment("default", "quota", "n", by=-7) == -1
    assert await rig.bus.registry.increment("other", "quota", "n") == 1


async def test_a_counter_is_read_as_digits(rig: Rig) -> None:
    await rig.bus.registry.increment("default", "quota", "n", by=42)
    record = await rig.bus.registry.get("default", "quota", "n")
    assert record is not None
    assert record.value == b"42"


async def test_adding_to_a_counter_does_not_prolong_its_life(rig: Rig) -> None:
    await rig.bus.registry.increment("default", "quota", "n", ttl=2 * rig.tick)
    await rig.bus.registry.increment("default", "quota", "n", ttl=rig.long)
    await rig.advance(3 * rig.tick)
    assert await rig.bus.registry.increment("default", "quota", "n") == 1


async def test_what_is_no_number_cannot_be_counted(rig: Rig) -> None:
    await rig.bus.registry.put(*VOICE, b"anna")
    with pytest.raises(ValueError, match="not a counter"):
        await rig.bus.registry.increment(*VOICE)


async def test_a_blob_is_read_as_it_was_written(rig: Rig) -> None:
    data = bytes(range(256)) * 1000
    await rig.bus.blobs.put("default", "prompt", data)
    assert await rig.peer.blobs.get("default", "prompt") == data
    assert await rig.bus.blobs.get("other", "prompt") is None


async def test_a_blob_lives_for_its_time(rig: Rig) -> None:
    await rig.bus.blobs.put("default", "prompt", b"1", ttl=rig.tick)
    await rig.bus.blobs.put("default", "ever", b"2")
    await rig.advance(2 * rig.tick)
    assert await rig.bus.blobs.get("default", "prompt") is None
    assert await rig.bus.blobs.get("default", "ever") == b"2"


async def test_a_blob_is_deleted_once(rig: Rig) -> None:
    await rig.bus.blobs.put("default", "prompt", b"1")
    await rig.bus.blobs.put("default", "prompt", b"2")
    assert await rig.bus.blobs.delete("default", "prompt")
    assert not await rig.bus.blobs.delete("default", "prompt")
    assert await rig.bus.blobs.get("default", "prompt") is None
