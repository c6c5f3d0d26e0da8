import asyncio

import pytest

from legato.audio import AudioFormat
from legato.engines.base import EngineKind
from legato.engines.registry import Listing
from legato.errors import EngineUnavailable, Overloaded
from legato.speech import SynthesisRequest
from legato.worker.config import EngineSpec, WorkerConfig
from legato.worker.frames import Sound
from legato.worker.pool import EnginePool, PoolState
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


def test_restarts_are_at_once_then_ever_slower() -> None:
    config = WorkerConfig(restart_delay=0.5, max_restart_delay=30)
    pool = EnginePool(TONE, config, None, changed=lambda: None)
    delays = [pool._delay(failures) for failures in (1, 2, 3, 4, 50)]  # noqa: SLF001  a rule of its own
    assert delays == [0.0, 0.5, 1.0, 2.0, 30.0]
