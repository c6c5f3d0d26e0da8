"""Engines that rest when nobody uses them, and that are swapped while somebody does."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from legato.bus.memory import MemoryBus
from legato.engines.base import EngineKind
from legato.protocol.messages import Notice, StreamEnd
from legato.worker.config import EngineSpec, WorkerConfig
from legato.worker.runner import Worker
from legato.worker.weighing import memory
from tests.integration.test_engine_processes import children
from tests.unit.worker.stage import DEADLINE, Stage
from tests.unit.worker.test_synthesis import spoken

pytestmark = pytest.mark.integration

REST = 0.3


def heavy(
    target: str = "tests.integration.heavy_engines:Heavy",
    *,
    processes: int = 1,
    unload_after: float | None = None,
    **options: Any,
) -> EngineSpec:
    return EngineSpec(
        kind=EngineKind.SYNTHESIZE,
        name="heavy",
        target=target,
        options=options,
        processes=processes,
        unload_after=unload_after,
    )


@asynccontextmanager
async def working(*engines: EngineSpec) -> AsyncIterator[Worker]:
    config = WorkerConfig(engines=engines, load_timeout=30, announce_every=0.2)
    async with Worker(MemoryBus(), config) as worker:
        await asyncio.wait_for(worker.wait_ready(), 60)
        yield worker


async def begin(worker: Worker, name: str) -> Stage:
    bus = worker._bus  # noqa: SLF001  (the test made it)
    assert isinstance(bus, MemoryBus)
    stage = await Stage.open("synthesize", bus=bus, engine="heavy", stream_id=name)
    await bus.jobs.submit(stage.job)
    return stage


async def say(worker: Worker, name: str, text: str) -> bytes:
    stage = await begin(worker, name)
    stage.text(text)
    stage.end()
    await stage.over()
    assert isinstance(stage.last_word, StreamEnd)
    return stage.pcm()


def grandchildren(pids: set[int]) -> set[int]:
    """Processes that a template among `pids` has forked."""
    lists = (Path(f"/proc/{pid}/task/{pid}/children").read_text() for pid in pids)
    return {int(pid) for found in lists for pid in found.split()}


async def soon(condition: Callable[[], bool]) -> None:
    """Wait, and leave the processor to the processes that are waited for."""
    async with asyncio.timeout(DEADLINE):
        while not condition():  # noqa: ASYNC110  no event tells of a process that ends
            await asyncio.sleep(0.02)


def queued(stage: Stage) -> bool:
    return any(isinstance(item, Notice) and item.kind == "queued" for item in stage.down)


@pytest.mark.parametrize("processes", [1, 2], ids=["one process", "a template and two"])
async def test_an_engine_that_nobody_uses_gives_its_memory_back(processes: int) -> None:
    others = children()
    spec = heavy(weights=100, processes=processes, unload_after=REST)
    async with working(spec) as worker:
        loaded = children() - others
        assert loaded
        held = await asyncio.to_thread(memory, "Pss", loaded | grandchildren(loaded))
        assert held >= 60  # of the second process, which may be on its way, a third is shared
        assert await say(worker, "a", "abc") == spoken("abc")
        await soon(lambda: not children() - others)
        (record,) = worker.engines()
        assert (record.state, record.slots) == ("ready", 4 * processes)
        woken = await asyncio.gather(*(say(worker, f"w{n}", "abc") for n in range(12)))
        assert set(woken) == {spoken("abc")}
        assert children() - others
        assert not (children() - others) & loaded


async def test_a_stream_that_wakes_an_engine_is_told_that_it_waits() -> None:
    others = children()
    async with working(heavy(unload_after=REST, load_seconds=0.7)) as worker:
        await soon(lambda: not children() - others)
        stage = await begin(worker, "a")
        stage.text("abc")
        stage.end()
        await stage.over()
        assert stage.pcm() == spoken("abc")
        assert queued(stage)


async def test_a_stream_that_pauses_loses_nothing_to_the_rest() -> None:
    others = children()
    async with working(heavy(unload_after=REST)) as worker:
        stage = await begin(worker, "a")
        stage.text("One. ")
        stage.flush()
        await stage.until(lambda s: bool(s.pcm()))
        await soon(lambda: not children() - others)
        stage.text("Two.")
        stage.end()
        await stage.over()
        assert stage.pcm() == spoken("One. ") + spoken("Two.")


async def test_an_engine_that_speaks_does_not_rest() -> None:
    others = children()
    async with working(heavy(unload_after=REST)) as worker:
        before = children() - others
        assert await say(worker, "a", "a~~~~b") == spoken("a~~~~b")
        assert children() - others == before


async def test_new_streams_go_to_the_new_model_and_old_ones_end_on_the_old() -> None:
    others = children()
    async with working(heavy(shift=0)) as worker:
        before = children() - others
        old = await begin(worker, "old")
        old.text("a~~~~b")
        old.end()
        await old.until(lambda s: bool(s.pcm()))
        await worker.renew([heavy(shift=1)])
        assert old.last_word is None
        assert await say(worker, "new", "abc") == spoken("bcd")
        assert old.last_word is None
        await old.over()
        assert old.pcm() == spoken("a~~~~b")
        assert not any(isinstance(item, Notice) for item in old.down)
        await soon(lambda: not (children() - others) & before)
        assert len(children() - others) == len(before)


async def test_a_swap_drops_no_stream_of_many() -> None:
    async with working(heavy(shift=0, processes=2)) as worker:
        ended = asyncio.Event()

        async def keep_saying(name: int) -> list[bytes]:
            heard: list[bytes] = []
            while not ended.is_set():
                heard.append(await say(worker, f"s{name}-{len(heard)}", "abc"))
            return heard

        speaking = [asyncio.create_task(keep_saying(name)) for name in range(6)]
        for shift in (1, 2):
            await worker.renew([heavy(shift=shift, processes=2)])
        ended.set()
        heard = [pcm for said in await asyncio.gather(*speaking) for pcm in said]
        assert set(heard) <= {spoken("abc"), spoken("bcd"), spoken("cde")}
        assert await say(worker, "last", "abc") == spoken("cde")


async def test_an_engine_that_cannot_be_swapped_goes_on_as_it_was(
    caplog: pytest.LogCaptureFixture,
) -> None:
    wrong = (
        heavy(nonsense=1),
        heavy("tests.integration.unruly_engines:Refusing"),
        heavy("tests.integration.unruly_engines:Stillborn"),
    )
    others = children()
    async with working(heavy(shift=0)) as worker:
        before = children() - others
        for number, spec in enumerate(wrong, 1):
            await worker.renew([spec])
            assert caplog.text.count("goes on as it was") == number
        await worker.renew([replace(heavy(), name="other")])
        assert "left the settings" in caplog.text
        assert "came into the settings" in caplog.text
        assert await say(worker, "a", "abc") == spoken("abc")
        await soon(lambda: children() - others == before)


async def test_an_engine_that_could_not_be_used_gets_another_chance() -> None:
    async with working(heavy(nonsense=1)) as worker:
        (record,) = worker.engines()
        assert record.state == "unavailable"
        await worker.renew([heavy()])
        await soon(lambda: worker.engines()[0].state == "ready")
        assert await say(worker, "a", "abc") == spoken("abc")


async def test_an_engine_that_rests_wakes_as_it_is_set_up_then() -> None:
    others = children()
    async with working(heavy(shift=0, unload_after=REST)) as worker:
        await soon(lambda: not children() - others)
        await worker.renew([heavy(shift=1, unload_after=REST)])
        assert not children() - others
        assert await say(worker, "a", "abc") == spoken("bcd")


async def test_a_swap_ends_with_its_worker() -> None:
    async with working(heavy()) as worker:
        swap = asyncio.create_task(worker.renew([heavy(load_seconds=20)]))
        await asyncio.sleep(0.2)
    await asyncio.wait_for(swap, 10)


async def test_an_engine_does_not_rest_while_it_is_swapped() -> None:
    others = children()
    async with working(heavy(unload_after=REST)) as worker:
        await worker.renew([heavy(shift=1, load_seconds=1.0)])
        await soon(lambda: len(children() - others) == 1)
        assert await say(worker, "a", "abc") == spoken("bcd")
        assert len(children() - others) == 1
