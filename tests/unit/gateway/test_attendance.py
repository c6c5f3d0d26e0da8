import asyncio

import pytest

from legato.bus.memory import MemoryBus
from legato.bus.records import (
    PROCESS_KIND,
    TENANT,
    EngineLoad,
    ProcessRecord,
    encode_process,
)
from legato.gateway.attendance import LOADING, RETRY_AFTER, TOLD_AFTER, Attendance
from legato.protocol.messages import Resume, StreamStart
from tests.unit.gateway.stage import Gateway, Line, echo

PATIENCE = 60.0


async def employ(bus: MemoryBus, state: str = "ready", *, engine: str = "tone") -> None:
    """Have a worker be there, with an engine in this state."""
    load = EngineLoad(
        kind="synthesize",
        name=engine,
        state=state,  # type: ignore[arg-type]  # one of the three
        busy=1,
        slots=1,
        waiting=100,
    )
    record = ProcessRecord(
        role="worker",
        name="w1",
        host="box",
        pid=8,
        version="1",
        state="ready",
        started=0.0,
        loop_lag=0.0,
        streams=101,
        engines=(load,),
    )
    await bus.registry.put(TENANT, PROCESS_KIND, record.name, encode_process(record))


async def dismiss(bus: MemoryBus) -> None:
    await bus.registry.delete(TENANT, PROCESS_KIND, "w1")


class Scene:
    """A gateway whose streams are looked after, and a client of one."""

    line: Line

    async def open(self, start: StreamStart | None = None) -> "Scene":
        self.gateway = await Gateway(idle_timeout=10_000.0).open()
        self.bus = self.gateway.bus
        self.line = await self.gateway.hello()
        await self.line.start(start or StreamStart(stream=1, stream_id="s", task="synthesize"))
        attendance = Attendance(
            self.bus.registry,
            self.gateway.streams.relays,
            asyncio.get_running_loop().time,
            patience=PATIENCE,
        )
        self.line.socket.sent.clear()
        self.running = asyncio.gather(attendance.run(), self.gateway.streams.keep_alive())
        return self

    def said(self) -> str:
        return " ".join(str(message) for message in self.line.socket.sent)


async def test_a_stream_without_a_worker_is_told_soon_and_ends_in_time() -> None:
    scene = await Scene().open()
    await asyncio.sleep(TOLD_AFTER + 2.0)
    notice = await scene.line.hear("notice")
    assert notice["kind"] == "queued"
    assert "no worker for tone" in notice["message"]
    await asyncio.sleep(PATIENCE / 2)
    assert scene.said() == "", "once is enough"
    error = await scene.line.error("engine_unavailable")
    assert (error["retryable"], error["retry_after"]) == (True, RETRY_AFTER)
    await asyncio.sleep(1.0)
    assert scene.bus.counts()["jobs"] == 0
    scene.running.cancel()


@pytest.mark.parametrize("start", [None, echo()])
async def test_a_stream_that_waits_behind_others_is_left_alone(start: StreamStart | None) -> None:
    scene = await Scene().open(start)
    await employ(scene.bus)
    await asyncio.sleep(10 * LOADING * PATIENCE)
    assert scene.said() == ""
    scene.running.cancel()


async def test_a_worker_that_comes_ends_the_wait() -> None:
    scene = await Scene().open()
    for _ in range(5):
        await dismiss(scene.bus)
        await asyncio.sleep(PATIENCE - 5.0)
        await employ(scene.bus)
        await asyncio.sleep(5.0)
    assert "engine_unavailable" not in scene.said()
    scene.running.cancel()


async def test_an_engine_that_loads_is_given_more_time_but_not_for_ever() -> None:
    scene = await Scene().open()
    await employ(scene.bus, "loading")
    await asyncio.sleep(LOADING * PATIENCE - 10.0)
    assert "engine_unavailable" not in scene.said()
    await asyncio.sleep(20.0)
    assert "engine_unavailable" in scene.said()
    scene.running.cancel()


@pytest.mark.parametrize(("state", "engine"), [("unavailable", "tone"), ("ready", "other")])
async def test_a_worker_that_cannot_do_it_is_none(state: str, engine: str) -> None:
    scene = await Scene().open()
    await employ(scene.bus, state, engine=engine)
    await asyncio.sleep(PATIENCE + 10.0)
    assert "engine_unavailable" in scene.said()
    scene.running.cancel()


async def test_a_bus_that_does_not_answer_is_no_lack_of_workers() -> None:
    scene = await Scene().open()
    await scene.bus.close()
    await asyncio.sleep(2 * PATIENCE)
    assert "engine_unavailable" not in scene.said()
    scene.running.cancel()


async def test_a_record_of_another_version_is_passed_over() -> None:
    scene = await Scene().open()
    await employ(scene.bus)
    await scene.bus.registry.put(TENANT, PROCESS_KIND, "new", b'{"role":"king"}')
    await asyncio.sleep(2 * PATIENCE)
    assert scene.said() == ""
    scene.running.cancel()


async def test_a_client_that_comes_back_learns_that_its_stream_has_failed() -> None:
    scene = await Scene().open()
    await scene.line.cut()
    await asyncio.sleep(1.0)
    new = await scene.gateway.hello()
    new.say(Resume(stream=1, stream_id="s", token=scene.line.token))
    await new.hear("resumed")
    await asyncio.sleep(PATIENCE + 5.0)
    await new.error("engine_unavailable")
    scene.running.cancel()
