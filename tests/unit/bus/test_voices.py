import time

import pytest

from legato.bus.memory import Bounds, MemoryBus
from legato.bus.memory.alarm import Alarm
from legato.bus.memory.registry import MemoryRegistry
from legato.bus.records import FORGOTTEN_KIND, TENANT
from legato.bus.voices import Consent, OwnVoice, OwnVoices, checked_name, digest
from legato.errors import MalformedMessage, Overloaded

PCM = b"\x01\x02" * 1_000


def voice(name: str = "anna") -> OwnVoice:
    return OwnVoice(
        name=name,
        sample_rate=24_000,
        seconds=1.0,
        digest=digest(PCM),
        created=1.0,
        consent=Consent(statement="yes", given=1.0),
    )


@pytest.mark.parametrize("bounds", [Bounds(registry_bytes=100), Bounds(blobs_bytes=1_000)])
async def test_a_voice_for_which_there_is_no_room_leaves_nothing(bounds: Bounds) -> None:
    bus = MemoryBus(bounds=bounds)
    with pytest.raises(Overloaded):
        await OwnVoices(bus).add("acme", voice(), PCM)
    assert await bus.blobs.list("acme") == set()
    assert await OwnVoices(bus).list("acme") == []


@pytest.mark.parametrize("name", ["a", "anna", "小明", "Zoë", "1.2_3-4", "x" * 64])
def test_a_name_is_of_letters_and_digits_of_any_script(name: str) -> None:
    assert checked_name(name) == name


@pytest.mark.parametrize("name", ["", " ", "-a", "_a", ".", "a b", "a/b", "a\n", "a\0", "x" * 65])
def test_what_is_no_name_is_told(name: str) -> None:
    with pytest.raises(MalformedMessage, match="1 to 64 letters and digits"):
        checked_name(name)


def test_one_name_is_kept_in_one_form() -> None:
    assert checked_name("Zoe\u0308") == "Zoë"


class NarrowRegistry(MemoryRegistry):
    """Has no room for one kind of record, the first time."""

    def __init__(self, bus: MemoryBus) -> None:
        super().__init__(Alarm(time.monotonic, bus.sweep), Bounds())
        self.refused = 0

    async def put(
        self,
        tenant: str,
        kind: str,
        name: str,
        value: bytes,
        *,
        ttl: float | None = None,
        expected: int | None = None,
    ) -> bool:
        if kind == FORGOTTEN_KIND and not self.refused:
            self.refused += 1
            raise Overloaded("no room")
        return await super().put(tenant, kind, name, value, ttl=ttl, expected=expected)


async def test_who_asks_again_has_the_workers_told_that_were_not() -> None:
    bus = MemoryBus()
    bus.registry = NarrowRegistry(bus)
    voices = OwnVoices(bus)
    await voices.add("acme", voice(), PCM)
    with pytest.raises(Overloaded):
        await voices.remove("acme", "anna")
    assert await bus.registry.list(TENANT, FORGOTTEN_KIND) == {}
    assert await voices.remove("acme", "anna") is False
    assert len(await bus.registry.list(TENANT, FORGOTTEN_KIND)) == 1
