import asyncio
import time

import pytest

from legato.audio import AudioFormat
from legato.engines.base import EngineKind
from legato.engines.registry import Listing
from legato.errors import EngineUnavailable, Overloaded
from legato.speech import SynthesisRequest
from legato.worker.config import EngineSpec, WorkerConfig
from legato.worker.frames import Sound
from legato.worker.pool import EnginePool, PoolState
from legato.worker.turns import Caller
from tests.unit.worker.stage import TONE, Running, eventually

REQUEST = SynthesisRequest(format=AudioFormat(16_000))
ONE_SLOT = EngineSpec(kind=EngineKind.SYNTHESIZE, name="tone", slots=1)


async def test_an_engine_that_is_missing_is_unavailable_from_the_start() -> None:
    listing = Listing(name="x", kind=EngineKind.SYNTHESIZE, info=None, missing="install it")
    spec = EngineSpec(kind=EngineKind.SYNTHESIZE, name="x")
    pool = EnginePool(spec, WorkerConfig(), listing, changed=lambda: None)
    await pool.settled()
    await pool.run()
    assert (pool.state, pool.slots) == (PoolState.UNAVAILABLE, 0)
    with pytest.raises(EngineUnavailable, match="install it"):
        await pool.open(REQUEST)


async def test_the_log_says_why_an_engine_that_is_missing_cannot_be_used(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    listing = Listing(name="x", kind=EngineKind.SYNTHESIZE, info=None, missing="install it")
    spec = EngineSpec(kind=EngineKind.SYNTHESIZE, name="x")
    await EnginePool(spec, WorkerConfig(), listing, changed=lambda: None).run()
    (told,) = (record.getMessage() for record in caplog.records)
    assert "engine unavailable" in told
    assert "install it" in told


async def test_a_call_speaks() -> None:
    async with Running(TONE) as (pool,):
        assert (pool.state, pool.slots) == (PoolState.READY, 8)
        await pool.ready()
        call = await pool.open(REQUEST)
        await call.feed("a")
        call.end()
        sounds = [output async for output in call if isinstance(output, Sound)]
        assert sum(len(sound.pcm) for sound in sounds) == 2 * 800


async def test_a_call_waits_for_a_free_slot() -> None:
    async with Running(ONE_SLOT) as (pool,):
        first = await pool.open(REQUEST)
        opening = asyncio.create_task(pool.open(REQUEST))
        await asyncio.sleep(0)
        assert not opening.done()
        first.close()
        second = await asyncio.wait_for(opening, 20)
        second.close()


async def test_a_free_slot_is_not_free_while_others_wait_for_it() -> None:
    async with Running(ONE_SLOT) as (pool,):
        first = await pool.open(REQUEST)
        opening = asyncio.create_task(pool.open(REQUEST))
        await asyncio.sleep(0)
        assert not pool.has_free_slot
        first.close()
        (await asyncio.wait_for(opening, 20)).close()
        await eventually(lambda: pool.has_free_slot)


async def test_a_call_does_not_wait_for_ever() -> None:
    async with Running(ONE_SLOT, config=WorkerConfig(slot_timeout=0.01)) as (pool,):
        call = await pool.open(REQUEST)
        with pytest.raises(Overloaded, match="no free slot") as caught:
            await pool.open(REQUEST)
        assert caught.value.retry_after == 0.01
        call.close()


async def test_an_inline_engine_that_cannot_be_loaded_says_why() -> None:
    spec = EngineSpec(kind=EngineKind.SYNTHESIZE, name="nobody")
    async with Running(spec) as (pool,):
        assert pool.state is PoolState.UNAVAILABLE
        assert "no engine 'nobody'" in (pool.reason or "")


async def served(pool: EnginePool, *callers: tuple[str, Caller]) -> list[str]:
    """The order in which callers get the only slot, who come while it is taken."""
    first = await pool.open(REQUEST)
    order: list[str] = []

    async def use(name: str, caller: Caller) -> None:
        call = await pool.open(REQUEST, caller=caller)
        order.append(name)
        call.close()

    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        for name, caller in callers:
            group.create_task(use(name, caller))
            await asyncio.sleep(0)
        first.close()
    return order


async def test_a_slot_goes_to_who_would_underrun_then_to_who_is_new_then_to_who_is_ahead() -> None:
    now = time.monotonic()
    async with Running(ONE_SLOT) as (pool,):
        assert await served(
            pool,
            ("whole", Caller(patient=True)),
            ("ahead", Caller(under_way=True, covered_until=now + 600)),
            ("new", Caller()),
            ("due", Caller(under_way=True, covered_until=now + 1)),
        ) == ["due", "new", "whole", "ahead"]


async def test_tenants_take_turns_for_a_slot() -> None:
    callers = [(tenant, Caller(tenant=tenant)) for tenant in "aaaabcc"]
    async with Running(ONE_SLOT) as (pool,):
        assert "".join(await served(pool, *callers)) == "abcacaa"
