"""Engines that block, crash and lie, in real processes: nobody else notices."""

import asyncio
import os
import resource
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from legato.bus.base import Direction
from legato.bus.memory import MemoryBus
from legato.engines.base import EngineKind
from legato.protocol.messages import Error, Notice, StreamEnd
from legato.worker.config import EngineSpec, WorkerConfig
from legato.worker.runner import Worker
from tests.unit.worker.stage import Stage, eventually
from tests.unit.worker.test_recognition import final_texts, noise
from tests.unit.worker.test_synthesis import spoken

pytestmark = pytest.mark.integration

ENGINES = "tests.integration.unruly_engines"
LOUD = b"\xff\x7f" * 1_600


def spec(name: str, *, kind: EngineKind = EngineKind.SYNTHESIZE, processes: int = 1) -> EngineSpec:
    return EngineSpec(
        kind=kind, name=name, target=f"{ENGINES}:{name.capitalize()}", processes=processes
    )


OBEDIENT = spec("obedient")
ATTENTIVE = spec("attentive", kind=EngineKind.RECOGNIZE)


def children() -> set[int]:
    """Processes that this one has started and not reaped, zombies too."""
    found = set()
    for task in Path("/proc/self/task").iterdir():
        try:
            found |= {int(pid) for pid in (task / "children").read_text().split()}
        except FileNotFoundError:  # the thread has just ended
            continue
    return found


@pytest.fixture(autouse=True)
def no_child_is_left() -> Iterator[None]:
    before = children()
    yield
    assert children() <= before


@asynccontextmanager
async def working(*engines: EngineSpec, timeout: float = 10.0) -> AsyncIterator[Worker]:
    bus = MemoryBus()
    config = WorkerConfig(engines=engines, engine_timeout=timeout, load_timeout=30)
    async with Worker(bus, config) as worker:
        await asyncio.wait_for(worker.wait_ready(), 60)
        yield worker


async def stream(worker: Worker, task: str, engine: str, name: str) -> Stage:
    bus = worker._bus  # noqa: SLF001  (the test made it)
    assert isinstance(bus, MemoryBus)
    stage = await Stage.open(task, bus=bus, engine=engine, stream_id=name)
    await bus.jobs.submit(stage.job)
    return stage


async def spoken_by(worker: Worker, name: str, text: str = "Fine again.") -> bytes:
    """What a stream of its own gets for a text."""
    stage = await stream(worker, "synthesize", "obedient", name)
    stage.text(text)
    stage.end()
    await stage.over()
    assert isinstance(stage.last_word, StreamEnd)
    return stage.pcm()


async def test_an_engine_process_speaks_as_the_engine_does() -> None:
    async with working(OBEDIENT) as worker:
        assert await spoken_by(worker, "a", "Hello there. How are you?") == spoken(
            "Hello there. How are you?"
        )


async def test_an_engine_process_hears_as_the_engine_does() -> None:
    pcm = noise(2.3)
    async with working(ATTENTIVE) as worker:
        stage = await stream(worker, "recognize", "attentive", "a")
        stage.frames_of(pcm)
        stage.end()
        await stage.over()
    assert [text.text for text in stage.finals] == final_texts(pcm)


async def test_a_crash_fails_its_stream_within_a_second_and_the_process_is_replaced() -> None:
    async with working(OBEDIENT) as worker:
        stage = await stream(worker, "synthesize", "obedient", "a")
        stage.text("abort")
        began = time.monotonic()
        stage.end()
        await stage.over()
        assert time.monotonic() - began < 1.0
        assert isinstance(stage.last_word, Error)
        assert stage.last_word.code == "engine_failed"
        assert stage.last_word.retryable
        assert await spoken_by(worker, "b") == spoken("Fine again.")


async def test_a_crash_leaves_streams_that_wait_for_input_as_they_were() -> None:
    pcm = noise(2.0)
    async with working(ATTENTIVE) as worker:
        innocent = await stream(worker, "recognize", "attentive", "a")
        innocent.frames_of(pcm[: 640 * 75])
        await innocent.until(lambda s: len(s.texts) >= 7)
        await innocent.bus.logs.trim(innocent.key, Direction.DOWN, upto=1_000)
        guilty = await stream(worker, "recognize", "attentive", "b")
        guilty.audio(LOUD)
        await guilty.over()
        assert isinstance(guilty.last_word, Error)
        assert guilty.last_word.code == "engine_failed"
        innocent.frames_of(pcm[640 * 75 :])
        innocent.end()
        await innocent.over()
    assert isinstance(innocent.last_word, StreamEnd)
    assert [text.text for text in innocent.finals] == final_texts(pcm)
    assert innocent.numbers() == list(range(len(innocent.numbers())))
    assert any(isinstance(item, Notice) for item in innocent.down)


async def test_a_crash_is_blamed_on_the_call_that_crashed() -> None:
    async with working(OBEDIENT) as worker:
        sleeping = await stream(worker, "synthesize", "obedient", "a")
        sleeping.text("sleep")
        sleeping.end()
        guilty = await stream(worker, "synthesize", "obedient", "b")
        guilty.text("abort")
        guilty.end()
        await guilty.over()
        assert isinstance(guilty.last_word, Error)
        # It is inside the engine again, in the new process.
        await sleeping.until(lambda s: any(isinstance(item, Notice) for item in s.down))
        assert sleeping.last_word is None


async def test_an_engine_that_holds_the_interpreter_stops_nobody_else() -> None:
    async with working(OBEDIENT, ATTENTIVE, timeout=1.5) as worker:
        blocked = await stream(worker, "synthesize", "obedient", "a")
        blocked.text("hold")
        began = time.monotonic()
        blocked.end()
        # Other engines, and echo, are as quick as ever.
        echo = await stream(worker, "echo", "echo", "b")
        listening = await stream(worker, "recognize", "attentive", "c")
        slowest = 0.0
        for number in range(40):
            sent = time.monotonic()
            echo.audio(bytes(640))
            await echo.until(lambda s, n=number: len(s.frames) > n)  # type: ignore[misc]  # keeps the loop's value
            slowest = max(slowest, time.monotonic() - sent)
            listening.frames_of(noise(0.02, seed=number))
            await asyncio.sleep(0.005)
        listening.end()
        await listening.over()
        assert isinstance(listening.last_word, StreamEnd)
        assert not [item for item in blocked.down if isinstance(item, Error)]
        assert slowest < 0.5
        # One that waits behind the lock is served by the next process.
        behind = await stream(worker, "synthesize", "obedient", "d")
        behind.text("Fine.")
        behind.end()
        await blocked.over()
        assert 1.5 <= time.monotonic() - began < 3.5
        assert isinstance(blocked.last_word, Error)
        assert blocked.last_word.code == "engine_timeout"
        await behind.over()
        assert behind.pcm() == spoken("Fine.")


async def test_an_engine_that_hangs_times_out() -> None:
    async with working(OBEDIENT, timeout=0.5) as worker:
        stage = await stream(worker, "synthesize", "obedient", "a")
        stage.text("sleep")
        stage.end()
        await stage.over()
        assert isinstance(stage.last_word, Error)
        assert stage.last_word.code == "engine_timeout"
        assert "0.5 s" in stage.last_word.message
        assert await spoken_by(worker, "b") == spoken("Fine again.")


async def test_a_client_that_is_silent_for_longer_than_the_timeout_is_no_hang() -> None:
    pcm = noise(1.0)
    async with working(ATTENTIVE, timeout=0.3) as worker:
        stage = await stream(worker, "recognize", "attentive", "a")
        stage.frames_of(pcm[:16_000])
        await stage.until(lambda s: s.texts)
        await asyncio.sleep(1.0)
        stage.frames_of(pcm[16_000:])
        stage.end()
        await stage.over()
    assert [text.text for text in stage.finals] == final_texts(pcm)


async def test_an_engine_that_never_ends_a_segment_is_made_to() -> None:
    patient = spec("patient", kind=EngineKind.RECOGNIZE)
    async with working(patient) as worker:
        stage = await stream(worker, "recognize", "patient", "a")
        for _ in range(600):
            stage.audio(bytes(3_200))
        stage.end()
        await stage.over()
    assert sum(text.end - text.start for text in stage.finals) == 60 * 16_000
    assert max(text.end - text.start for text in stage.finals) <= 25.1 * 16_000
    assert [text.start for text in stage.finals[1:]] == [text.end for text in stage.finals[:-1]]


async def test_a_cancelled_call_frees_its_slot_though_the_engine_waits() -> None:
    one_slot = EngineSpec(
        kind=EngineKind.RECOGNIZE, name="attentive", target=f"{ENGINES}:Attentive", slots=1
    )
    async with working(one_slot) as worker:
        first = await stream(worker, "recognize", "attentive", "a")
        first.frames_of(noise(0.5))
        await first.until(lambda s: s.texts)
        first.cancel(0)
        first.end()
        await first.over()
        second = await stream(worker, "recognize", "attentive", "b")
        second.frames_of(noise(0.5))
        second.end()
        await second.over()
        assert isinstance(second.last_word, StreamEnd)


async def test_an_exception_fails_its_stream_and_spares_the_process() -> None:
    async with working(OBEDIENT) as worker:
        before = children()
        stage = await stream(worker, "synthesize", "obedient", "a")
        stage.text("raise")
        stage.end()
        await stage.over()
        assert isinstance(stage.last_word, Error)
        assert stage.last_word.code == "engine_failed"
        assert "ValueError" in stage.last_word.message
        assert await spoken_by(worker, "b") == spoken("Fine again.")
        assert children() == before


async def test_a_process_that_is_killed_is_replaced() -> None:
    others = children()  # servers that other tests share
    async with working(OBEDIENT) as worker:
        before = children()
        for pid in before - others:
            os.kill(pid, signal.SIGKILL)
        await eventually(lambda: bool(children() - before))
        assert await spoken_by(worker, "a") == spoken("Fine again.")


async def test_nobody_is_refused_for_a_process_that_is_being_replaced() -> None:
    others = children()
    async with working(OBEDIENT) as worker:
        (pool,) = worker._pools  # noqa: SLF001  (no port of the worker tells it sooner)
        before = children() - others
        for pid in before:
            os.kill(pid, signal.SIGKILL)
        await eventually(lambda: not pool.has_free_slot)
        assert (pool.busy, pool.waiting, pool.slots) == (0, 0, 8)


async def test_a_call_of_a_process_that_is_killed_is_begun_again() -> None:
    others = children()
    async with working(OBEDIENT) as worker:
        stage = await stream(worker, "synthesize", "obedient", "a")
        stage.text("sleep")
        stage.end()
        await asyncio.sleep(0.3)
        (pid,) = children() - others
        os.kill(pid, signal.SIGKILL)
        await stage.until(lambda s: any(isinstance(item, Notice) for item in s.down))
        assert stage.last_word is None


async def test_a_call_that_has_its_process_killed_fails_and_others_live_on() -> None:
    pcm = noise(2.0)
    async with working(ATTENTIVE) as worker:
        innocent = await stream(worker, "recognize", "attentive", "a")
        innocent.frames_of(pcm[: 640 * 75])
        await innocent.until(lambda s: len(s.texts) >= 7)
        guilty = await stream(worker, "recognize", "attentive", "b")
        guilty.audio(b"\xfe\x7f" * 1_600)
        await guilty.over()
        assert isinstance(guilty.last_word, Error)
        assert guilty.last_word.code == "engine_failed"
        assert "died 4 times" in guilty.last_word.message
        innocent.frames_of(pcm[640 * 75 :])
        innocent.end()
        await innocent.over()
    assert isinstance(innocent.last_word, StreamEnd)
    assert [text.text for text in innocent.finals] == final_texts(pcm)


async def test_a_process_that_is_stopped_while_its_call_waits_is_replaced() -> None:
    pcm = noise(1.0)
    others = children()
    async with working(ATTENTIVE, timeout=0.5) as worker:
        stage = await stream(worker, "recognize", "attentive", "a")
        stage.frames_of(pcm[:16_000])
        await stage.until(lambda s: s.texts)
        await asyncio.sleep(0.3)
        (pid,) = children() - others
        os.kill(pid, signal.SIGSTOP)
        stage.frames_of(pcm[16_000:])
        stage.end()
        await stage.over()
    assert isinstance(stage.last_word, StreamEnd)
    assert [text.text for text in stage.finals] == final_texts(pcm)


async def test_a_process_that_cannot_be_made_is_tried_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    others = children()
    async with working(OBEDIENT) as worker:
        (pid,) = children() - others
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, limits[1]))
        try:
            os.kill(pid, signal.SIGKILL)
            await eventually(lambda: caplog.text.count("did not start") >= 2)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        assert "Too many open files" in caplog.text
        assert await spoken_by(worker, "a") == spoken("Fine again.")


async def test_two_processes_share_the_streams() -> None:
    before = children()
    async with working(spec("obedient", processes=2)) as worker:
        assert len(children() - before) == 2
        assert worker.engines()[0].slots == 16
        texts = await asyncio.gather(*(spoken_by(worker, f"s{n}") for n in range(4)))
        assert set(texts) == {spoken("Fine again.")}


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("refusing", 'weights are missing; add them with pip install "x"'),
        ("stumbling", "stumbling cannot be loaded: it raised ValueError"),
        ("stillborn", "stillborn died while loading; see the log"),
    ],
)
async def test_an_engine_that_cannot_be_loaded_says_why(name: str, reason: str) -> None:
    async with working(spec(name), OBEDIENT) as worker:
        record = next(record for record in worker.engines() if record.name == name)
        assert (record.state, record.reason) == ("unavailable", reason)
        assert await spoken_by(worker, "a") == spoken("Fine again.")


async def test_an_engine_that_is_no_engine_says_so() -> None:
    nothing = EngineSpec(kind=EngineKind.SYNTHESIZE, name="nothing", target=f"{ENGINES}:Nothing")
    async with working(nothing) as worker:
        (record,) = worker.engines()
        assert "not an engine's module:Class" in (record.reason or "")


async def test_a_worker_can_be_stopped_while_an_engine_loads() -> None:
    config = WorkerConfig(engines=(spec("sleeper"),))
    worker = Worker(MemoryBus(), config)
    before = children()
    await worker.start()
    await eventually(lambda: bool(children() - before))
    await asyncio.wait_for(worker.stop(), 10)


async def test_an_engine_that_takes_too_long_to_load_is_ended() -> None:
    config = WorkerConfig(engines=(spec("sleeper"),), load_timeout=0.5)
    async with Worker(MemoryBus(), config) as worker:
        await asyncio.wait_for(worker.wait_ready(), 30)
        (record,) = worker.engines()
        assert "not loaded within 0.5 s" in (record.reason or "")


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_engine_processes_die_with_their_worker(end: signal.Signals, tmp_path: Path) -> None:
    script = tmp_path / "worker.py"
    script.write_text(
        textwrap.dedent(f"""
        import asyncio
        from legato.bus.memory import MemoryBus
        from legato.engines.base import EngineKind
        from legato.worker.config import EngineSpec, WorkerConfig
        from legato.worker.runner import Worker

        async def main():
            spec = EngineSpec(kind=EngineKind.SYNTHESIZE, name="o", target="{ENGINES}:Obedient")
            async with Worker(MemoryBus(), WorkerConfig(engines=(spec,))) as worker:
                await worker.wait_ready()
                print("ready", flush=True)
                await worker.finished()

        asyncio.run(main())
        """)
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    worker = subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    with worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == b"ready\n"
        engines = [
            int(pid)
            for pid in Path(f"/proc/{worker.pid}/task/{worker.pid}/children").read_text().split()
        ]
        assert engines
        worker.send_signal(end)
        worker.wait(timeout=20)
        deadline = time.monotonic() + 10
        while any(Path(f"/proc/{pid}").exists() for pid in engines):
            assert time.monotonic() < deadline
            time.sleep(0.02)


async def test_a_process_is_replaced_after_so_many_calls_and_none_is_lost() -> None:
    others = children()
    bus = MemoryBus()
    config = WorkerConfig(engines=(OBEDIENT, ATTENTIVE), recycle_after=3, recycle_jitter=0)
    pcm = noise(2.0)
    seen: set[int] = set()
    async with Worker(bus, config) as worker:
        await asyncio.wait_for(worker.wait_ready(), 60)
        held = await stream(worker, "recognize", "attentive", "held")
        held.frames_of(pcm[: len(pcm) // 2])
        await held.until(lambda s: s.texts)
        for number in range(10):
            seen |= children() - others
            assert await spoken_by(worker, f"s{number}") == spoken("Fine again.")
            other = await stream(worker, "recognize", "attentive", f"r{number}")
            other.frames_of(noise(0.5))
            other.end()
            await other.over()
            assert isinstance(other.last_word, StreamEnd)
        held.frames_of(pcm[len(pcm) // 2 :])
        held.end()
        await held.over()
        assert [text.text for text in held.finals] == final_texts(pcm)
        assert not any(isinstance(item, Notice) for item in held.down)
        await eventually(lambda: len(children() - others) == 2)
        seen |= children() - others
    assert len(seen) >= 4, "both engines were replaced"
