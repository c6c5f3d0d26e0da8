from legato.bus.forgetting import TOLD_FOR, owner_of, tell_forgotten
from legato.bus.memory import MemoryBus
from legato.bus.records import FORGOTTEN_KIND, SYSTEM_KINDS, TENANT


async def test_each_time_is_told_anew_and_without_a_name() -> None:
    registry = MemoryBus().registry
    await tell_forgotten(registry, "acme")
    (first,) = (await registry.list(TENANT, FORGOTTEN_KIND)).values()
    await tell_forgotten(registry, "acme")
    await tell_forgotten(registry, "other")
    records = await registry.list(TENANT, FORGOTTEN_KIND)
    assert set(records) == {owner_of("acme"), owner_of("other")}
    assert records[owner_of("acme")].version != first.version
    assert "acme" not in "".join(records)


def test_the_record_is_the_systems_and_lives_longer_than_a_look() -> None:
    assert FORGOTTEN_KIND in SYSTEM_KINDS
    assert TOLD_FOR > 60
