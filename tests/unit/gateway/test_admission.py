import asyncio

import pytest

from legato.bus.memory import MemoryBus
from legato.bus.records import (
    PROCESS_KIND,
    TENANT,
    EngineLoad,
    EngineRecord,
    ProcessRecord,
    encode_process,
)
from legato.errors import Overloaded
from legato.gateway.admission import (
    FRESH,
    SETTLED,
    Admission,
    Load,
    expected_wait,
    is_slower_than_speech,
    merged,
)
from legato.gateway.catalog import Catalog
from legato.protocol.messages import Continuation, StreamStart
from tests.contract.buses import FakeClock
from tests.unit.gateway.stage import offer


def load(
    *,
    slots: int = 8,
    busy: int = 0,
    waiting: int = 0,
    hold: float = 8.0,
    oldest: float = 0.0,
    cost: float = 0.0,
) -> Load:
    return Load(slots=slots, busy=busy, waiting=waiting, hold=hold, oldest=oldest, cost=cost)


def told(kind: str = "recognize", **facts: object) -> EngineLoad:
    values = {"name": "ear", "state": "ready", "busy": 0, "slots": 8, "hold": 8.0, **facts}
    return EngineLoad(kind=kind, **values)  # type: ignore[arg-type]  # fields by name


def worker(*loads: EngineLoad, name: str = "w", state: str = "ready") -> ProcessRecord:
    return ProcessRecord(
        role="worker",
        name=name,
        host="h",
        pid=1,
        version="1",
        state=state,  # type: ignore[arg-type]  # one of its words
        started=0.0,
        loop_lag=0.0,
        streams=0,
        engines=loads,
    )


@pytest.mark.parametrize(
    ("state", "coming", "wait"),
    [
        (load(), 0, 0.0),
        (load(busy=7), 0, 0.0),
        (load(busy=7), 1, 8.0),
        (load(busy=8, oldest=6.0), 0, 2.0),
        (load(busy=8, oldest=7.9), 0, 1.0),
        (load(busy=8, waiting=4, oldest=7.9), 0, 5.0),
        (load(busy=8, waiting=4, oldest=7.9), 2, 7.0),
        (load(busy=8, oldest=160.0), 0, 10.0),
    ],
)
def test_the_wait_follows_from_slots_depth_and_what_calls_take(
    state: Load, coming: int, wait: float
) -> None:
    assert expected_wait(state, coming) == pytest.approx(wait)


@pytest.mark.parametrize(
    ("state", "slow"),
    [
        (load(busy=8, waiting=7, cost=0.5), False),
        (load(busy=8, waiting=8, cost=0.5), True),
        (load(busy=8, waiting=80), False),
        (load(cost=99.0), False),
    ],
)
def test_more_streams_than_can_be_spoken_in_time_are_too_many(state: Load, slow: bool) -> None:
    assert is_slower_than_speech(state, 0) is slow


def test_workers_that_are_not_ready_do_not_count() -> None:
    assert merged([]) is None
    assert merged([told(slots=0, state="loading")]) is None
    both = merged([told(busy=1, waiting=2, hold=1.0, slots=6), told(hold=5.0, slots=2)])
    assert both == load(busy=1, waiting=2, hold=2.0)


class Scene:
    def __init__(self, *, max_wait: float = 10.0) -> None:
        self.clock = FakeClock()
        self.bus = MemoryBus(clock=self.clock)
        catalog = Catalog(self.bus.registry, self.clock)
        self.admission = Admission(self.bus.registry, catalog, self.clock, max_wait=max_wait)

    async def tell(self, *records: ProcessRecord) -> None:
        for record in records:
            value = encode_process(record)
            await self.bus.registry.put(TENANT, PROCESS_KIND, record.name, value)
        self.clock.now += FRESH

    async def admitted(self, count: int, *, task: str = "recognize", **more: object) -> int:
        """Let streams in until one is refused; how many were not."""
        start = StreamStart(stream_id="s", task=task, **more)  # type: ignore[arg-type]  # by name
        for number in range(count):
            try:
                await self.admission.admit(start, "ear")
            except Overloaded as refusal:
                self.refusal = refusal
                return number
        return count


async def test_a_burst_is_let_in_up_to_the_slots_though_no_figures_follow_so_fast() -> None:
    scene = Scene()
    await scene.tell(worker(told(hold=30.0)))
    assert await scene.admitted(12) == 8
    assert scene.refusal.retry_after == 30.0
    assert scene.refusal.offer is None, "a recognition cannot but be streamed"


async def test_short_calls_are_queued_rather_than_refused() -> None:
    scene = Scene()
    await scene.tell(worker(told(hold=2.0)))
    assert await scene.admitted(100) == 8 + 33


async def test_what_was_let_in_is_soon_in_the_workers_own_figures() -> None:
    scene = Scene()
    await scene.tell(worker(told(hold=30.0)))
    assert await scene.admitted(8) == 8
    scene.clock.now += SETTLED
    await scene.tell(worker(told(hold=30.0, busy=2)))
    assert await scene.admitted(12) == 6


async def test_a_synthesis_that_is_refused_may_come_whole() -> None:
    scene = Scene()
    await scene.tell(worker(told("synthesize", hold=8.0, busy=8, waiting=10)))
    assert await scene.admitted(1, task="synthesize") == 0
    assert scene.refusal.offer == {"streaming": False}
    assert (scene.refusal.retry_after or 0) >= 10
    assert "not streamed" in scene.refusal.message
    assert await scene.admitted(1, task="synthesize", streaming=False) == 1
    assert await scene.admitted(100, task="synthesize", streaming=False) < 60
    assert scene.refusal.offer is None


async def test_what_goes_on_elsewhere_may_wait_longer_but_not_without_end() -> None:
    scene = Scene()
    await scene.tell(worker(told("synthesize", hold=8.0, busy=8, waiting=10)))
    again = Continuation(epoch=1)
    assert await scene.admitted(1, task="synthesize", continues=again) == 1
    assert await scene.admitted(100, task="synthesize", continues=again) < 60


async def test_speech_that_would_be_slower_than_listening_is_refused() -> None:
    scene = Scene()
    await scene.tell(worker(told("synthesize", hold=0.1, busy=7, cost=1.5)))
    assert await scene.admitted(1, task="synthesize") == 0
    assert scene.refusal.retry_after == 1.0


async def test_workers_that_drain_are_left_out() -> None:
    scene = Scene()
    await scene.tell(
        worker(told(hold=30.0), state="draining"), worker(told(hold=30.0, slots=2), name="v")
    )
    assert await scene.admitted(12) == 2


async def test_an_engine_without_figures_counts_as_idle() -> None:
    scene = Scene()
    await offer(scene.bus, EngineRecord(kind="recognize", name="ear", slots=3, state="ready"))
    assert await scene.admitted(12) == 3


async def test_what_has_no_slots_is_let_in() -> None:
    scene = Scene()
    assert await scene.admitted(100, task="echo") == 100


async def test_a_record_of_another_version_is_passed_over() -> None:
    scene = Scene()
    await scene.bus.registry.put(TENANT, PROCESS_KIND, "x", b"{}")
    await scene.tell(worker(told(hold=30.0, slots=1)))
    assert await scene.admitted(5) == 1


async def test_figures_are_read_twice_a_second_at_most() -> None:
    scene = Scene()
    await scene.tell(worker(told(hold=30.0, slots=1)))
    reads = 0
    read = scene.bus.registry.list

    async def counted(tenant: str, kind: str) -> object:
        nonlocal reads
        reads += 1
        return await read(tenant, kind)

    scene.bus.registry.list = counted  # type: ignore[method-assign,assignment]  # counts
    await asyncio.gather(*(scene.admitted(1) for _ in range(5)))
    assert reads == 1
