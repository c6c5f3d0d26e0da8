"""Engine processes of one engine share its weights, and each may still die on its own."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from legato.bus.memory import MemoryBus
from legato.engines.base import EngineKind
from legato.worker.calls import EngineLost
from legato.worker.config import EngineSpec, WorkerConfig
from legato.worker.process import EngineProcess
from legato.worker.runner import Worker
from legato.worker.template import template_for
from legato.worker.weighing import LISTENING, SPEAKING, listen, speak, weighed
from tests.unit.worker.stage import eventually

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(sys.platform != "linux", reason="engine processes are forked on Linux only"),
]

ENGINES = "tests.integration.unruly_engines"
SENTENCE = "The old harbour was quiet that morning."


def share(weights: tuple[float, float, float]) -> float:
    first, one, two = weights
    return (two - one) / first


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


async def gone(pid: int) -> None:
    await eventually(lambda: not is_alive(pid))


async def test_a_second_speaking_process_costs_less_than_half_of_the_first() -> None:
    assert share(await weighed(SPEAKING, lambda process: speak(process, SENTENCE))) <= 0.5


async def test_a_second_listening_process_costs_less_than_half_of_the_first() -> None:
    process = EngineProcess(SPEAKING, WorkerConfig())
    await process.start()
    speech = await speak(process, SENTENCE)
    await process.stop()
    assert share(await weighed(LISTENING, lambda other: listen(other, speech))) <= 0.5


async def test_a_forked_process_speaks_the_same_samples_as_a_fresh_one() -> None:
    template = template_for(SPEAKING, WorkerConfig())
    assert template is not None
    forked = EngineProcess(SPEAKING, WorkerConfig(), template=template)
    fresh = EngineProcess(SPEAKING, WorkerConfig())
    try:
        told, expected = await forked.start(), await fresh.start()
        assert told == expected
        assert await speak(forked, "Fine again.") == await speak(fresh, "Fine again.")
    finally:
        await forked.stop()
        await fresh.stop()
        await template.stop()


async def test_a_forked_process_that_is_killed_leaves_the_others_at_work() -> None:
    template = template_for(SPEAKING, WorkerConfig())
    assert template is not None
    first, second, third = (
        EngineProcess(SPEAKING, WorkerConfig(), template=template) for _ in range(3)
    )
    try:
        await first.start()
        await second.start()
        assert first.pid is not None
        assert parent_of(first.pid) == template.pid
        os.kill(first.pid, signal.SIGKILL)
        assert await asyncio.wait_for(first.lost(), 10) == "crash"
        assert await speak(second, "Fine again.")
        await third.start()
        assert await speak(third, "Fine again.")
    finally:
        for process in (first, second, third):
            await process.stop()
        await template.stop()


async def test_a_template_that_is_killed_takes_its_processes_along_and_is_made_anew() -> None:
    template = template_for(SPEAKING, WorkerConfig())
    assert template is not None
    first, second = (EngineProcess(SPEAKING, WorkerConfig(), template=template) for _ in range(2))
    try:
        await first.start()
        assert template.pid is not None
        assert first.pid is not None
        os.kill(template.pid, signal.SIGKILL)
        await asyncio.wait_for(first.lost(), 10)
        await gone(first.pid)
        assert first.calls.free == 0
        await second.start()
        assert await speak(second, "Fine again.")
    finally:
        await first.stop()
        await second.stop()
        await template.stop()


async def test_a_template_that_hangs_is_made_anew() -> None:
    template = template_for(SPEAKING, WorkerConfig())
    assert template is not None
    first, second, third = (
        EngineProcess(SPEAKING, WorkerConfig(), template=template) for _ in range(3)
    )
    try:
        await first.start()
        assert template.pid is not None
        os.kill(template.pid, signal.SIGSTOP)
        with pytest.raises(EngineLost):
            await second.start()
        await asyncio.wait_for(first.lost(), 10)
        await third.start()
        assert await speak(third, "Fine again.")
    finally:
        for process in (first, second, third):
            await process.stop()
        await template.stop()


async def test_an_engine_that_may_not_be_forked_is_loaded_by_each_process() -> None:
    spec = EngineSpec(
        kind=EngineKind.SYNTHESIZE, name="obedient", target=f"{ENGINES}:Obedient", processes=2
    )
    template = template_for(spec, WorkerConfig())
    process = EngineProcess(spec, WorkerConfig(), template=template)
    try:
        await process.start()
        assert process.pid is not None
        assert parent_of(process.pid) == os.getpid()
        assert template is not None
        assert template.pid is None
    finally:
        await process.stop()


async def test_an_engine_with_threads_of_its_own_is_not_forked() -> None:
    spec = EngineSpec(
        kind=EngineKind.SYNTHESIZE, name="threaded", target=f"{ENGINES}:Threaded", processes=2
    )
    template = template_for(spec, WorkerConfig())
    process = EngineProcess(spec, WorkerConfig(), template=template)
    try:
        await process.start()
        assert process.pid is not None
        assert parent_of(process.pid) == os.getpid()
    finally:
        await process.stop()


def test_one_process_needs_no_template() -> None:
    assert (
        template_for(EngineSpec(kind=EngineKind.SYNTHESIZE, name="hibari"), WorkerConfig()) is None
    )


async def test_a_worker_with_two_processes_leaves_none_behind() -> None:
    config = WorkerConfig(engines=(SPEAKING,))
    before = children(os.getpid())  # servers of other tests
    async with Worker(MemoryBus(), config) as worker:
        await asyncio.wait_for(worker.wait_ready(), 60)
        (template,) = children(os.getpid()) - before
        await eventually(lambda: len(children(template)) == 2)
        pids = children(template)
    for pid in (template, *pids):
        await gone(pid)


def children(pid: int) -> set[int]:
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if int(parent) == pid and state != "Z":
            found.add(int(stat.parent.name))
    return found
