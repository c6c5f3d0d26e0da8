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
