import pytest

from legato.errors import EngineTimeout
from legato.worker.board import NoBoard, SlotState
from legato.worker.calls import EngineCall
from legato.worker.frames import Consumed, Sound
from legato.worker.watch import Watch, timeout_error
from tests.unit.worker.test_calls import LISTEN, SPEAK, Wire


class Watched(Wire):
    """A call under watch, in virtual time."""

    def __init__(self) -> None:
        super().__init__()
        self.board = NoBoard(2)
        self.watch = Watch(self.calls, self.board, timeout=10.0, clock=self.clock)

    def look_until(self, now: float) -> list[EngineCall]:
        hung: list[EngineCall] = []
        while self.now < now and not hung:
            self.now += self.watch.interval
            hung = self.watch.hung()
        return hung


async def test_a_call_inside_its_engine_without_progress_hangs() -> None:
    wire = Watched()
    call = wire.calls.open(SPEAK)
    wire.board.put(0, SlotState.INSIDE)
    assert wire.look_until(9.75) == []
    assert wire.look_until(30) == [call]
    assert wire.now == 10.0


async def test_a_call_that_never_began_hangs_too() -> None:
    wire = Watched()
    call = wire.calls.open(SPEAK)
    assert wire.look_until(30) == [call]


async def test_a_call_that_waits_for_its_client_never_hangs() -> None:
    wire = Watched()
    wire.calls.open(LISTEN)
    wire.board.put(0, SlotState.WAITING)
    assert wire.look_until(1000) == []
    wire.board.put(0, SlotState.INSIDE)
    assert wire.look_until(1009) == []


async def test_a_call_that_does_not_take_its_input_hangs_though_it_waits() -> None:
    wire = Watched()
    call = wire.calls.open(SPEAK)
    wire.board.put(0, SlotState.WAITING)
    assert wire.look_until(50) == []
    await call.feed("a")
    assert wire.look_until(60) == []
    assert wire.look_until(62) == [call]


async def test_ever_more_input_that_is_not_taken_is_no_progress() -> None:
    wire = Watched()
    call = wire.calls.open(SPEAK)
    wire.board.put(0, SlotState.WAITING)
    for second in range(1, 10):
        await call.feed("a")
        assert wire.look_until(second) == []
    assert wire.look_until(11) == [call]


async def test_a_call_that_does_not_act_on_its_credit_hangs() -> None:
    wire = Watched()
    call = wire.calls.open(SPEAK)
    wire.calls.receive(Sound(0, b"ab"))
    wire.board.put(0, SlotState.WAITING)
    assert wire.look_until(50) == []
    await anext(call)
    assert wire.look_until(62) == [call]


async def test_a_call_that_has_taken_all_and_lacks_credit_does_not_hang() -> None:
    wire = Watched()
    call = wire.calls.open(SPEAK)
    await call.feed("much text")
    call.end()
    wire.calls.receive(Sound(0, b"ab"))
    wire.board.put(0, SlotState.WAITING, 2)
    assert wire.look_until(1000) == []


async def test_the_call_that_keeps_another_waiting_is_found_first() -> None:
    wire = Watched()
    guilty, kept = wire.calls.open(SPEAK), wire.calls.open(SPEAK)
    wire.board.put(kept.slot, SlotState.WAITING)
    wire.look_until(5)
    await kept.feed("a")
    wire.now += 0.2
    wire.calls.receive(Consumed(guilty.number, 0))
    wire.board.put(guilty.slot, SlotState.INSIDE)
    assert wire.look_until(30) == [guilty]


async def test_any_progress_starts_the_time_anew() -> None:
    wire = Watched()
    wire.calls.open(SPEAK)
    wire.board.put(0, SlotState.INSIDE)
    assert wire.look_until(9) == []
    wire.calls.receive(Consumed(0, 0))
    assert wire.look_until(18) == []


async def test_a_held_up_worker_does_not_blame_the_engine() -> None:
    wire = Watched()
    wire.calls.open(SPEAK)
    wire.board.put(0, SlotState.INSIDE)
    wire.now = 60.0
    assert wire.watch.hung() == []
    assert wire.look_until(69) == []


async def test_a_call_is_found_hanging_once() -> None:
    wire = Watched()
    call = wire.calls.open(SPEAK)
    assert wire.look_until(30) == [call]
    call.give_up(timeout_error("tone", 10.0))
    assert wire.look_until(60) == []
    with pytest.raises(EngineTimeout, match="no progress for 10 s"):
        await anext(call)


class Working(Watched):
    """An engine under watch that uses the processor."""

    def __init__(self, cpu_share: float | None) -> None:
        super().__init__()
        self.cpu_share = cpu_share
        cpu = self.used if cpu_share is not None else lambda: None
        self.watch = Watch(self.calls, self.board, timeout=10.0, clock=self.clock, cpu=cpu)

    def used(self) -> float:
        return self.now * (self.cpu_share or 0.0)


@pytest.mark.parametrize(
    ("cpu_share", "found_at"),
    [(0.0, 10.0), (0.04, 10.0), (0.1, 40.0), (0.5, 20.0), (1.0, 10.0), (2.0, 10.0)],
)
async def test_a_call_is_charged_with_the_work_that_was_done_for_it(
    cpu_share: float, found_at: float
) -> None:
    wire = Working(cpu_share)
    call = wire.calls.open(SPEAK)
    wire.board.put(0, SlotState.INSIDE)
    assert wire.look_until(found_at - wire.watch.interval) == []
    assert wire.look_until(1000) == [call]
    assert wire.now == pytest.approx(found_at, abs=wire.watch.interval)


async def test_calls_of_a_busy_engine_share_its_time() -> None:
    wire = Working(1.0)
    for slot in range(2):
        wire.calls.open(SPEAK)
        wire.board.put(slot, SlotState.INSIDE)
    assert wire.look_until(19.5) == []
    assert len(wire.look_until(1000)) == 2


@pytest.mark.parametrize(("cpu_share", "found_at"), [(0.0, 20.0), (None, 20.0), (1.0, 20.0)])
async def test_a_starved_call_of_an_engine_that_gets_on_is_not_soon_found_hanging(
    cpu_share: float | None, found_at: float
) -> None:
    wire = Working(cpu_share)
    starved, other = wire.calls.open(SPEAK), wire.calls.open(SPEAK)
    for call in (starved, other):
        wire.board.put(call.slot, SlotState.INSIDE)
    hung: list[EngineCall] = []
    while wire.now < found_at - 1 and not hung:
        wire.now += wire.watch.interval
        wire.calls.receive(Consumed(other.number, 0))
        hung = wire.watch.hung()
    assert (hung, wire.now) == ([], found_at - 1), "the engine gets on"
    while wire.now < 1000 and not hung:
        wire.now += wire.watch.interval
        wire.calls.receive(Consumed(other.number, 0))
        hung = wire.watch.hung()
    assert hung == [starved], "but not for ever"
