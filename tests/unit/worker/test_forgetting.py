import asyncio
from collections.abc import Mapping

from legato.bus.base import Record, StreamKey
from legato.bus.erasure import erase_stream, erase_tenant
from legato.bus.memory import Bounds, MemoryBus
from legato.bus.memory.alarm import Alarm
from legato.bus.memory.registry import MemoryRegistry
from legato.errors import BusUnavailable
from legato.worker.cache import SpeechCache
from legato.worker.forgetting import Forgetting
from tests.unit.worker.test_cache import keep


async def test_a_stream_that_is_erased_takes_its_tenants_speech_along() -> None:
    bus, cache = MemoryBus(), SpeechCache(1 << 20)
    forgetting = Forgetting(bus.registry, cache)
    keep(cache)
    keep(cache, tenant="other")
    await forgetting.look()
    assert len(cache) == 2
    await erase_stream(bus, StreamKey("acme", "long gone"))
    await forgetting.look()
    assert len(cache) == 1
    keep(cache)
    await forgetting.look()
    assert len(cache) == 2
    await erase_tenant(bus, "acme")
    await erase_tenant(bus, "other")
    await forgetting.look()
    assert len(cache) == 0


async def test_a_worker_that_cannot_be_told_keeps_nothing() -> None:
    class GoneRegistry(MemoryRegistry):
        async def list(self, tenant: str, kind: str) -> Mapping[str, Record]:
            raise BusUnavailable(f"no {kind} of {tenant}")

    cache = SpeechCache(1 << 20)
    keep(cache)
    gone = GoneRegistry(Alarm(lambda: 0.0, lambda: None), Bounds())
    await Forgetting(gone, cache).look()
    assert len(cache) == 0


async def test_without_a_cache_nobody_looks() -> None:
    await asyncio.wait_for(Forgetting(MemoryBus().registry, SpeechCache(0)).run(), 5)
