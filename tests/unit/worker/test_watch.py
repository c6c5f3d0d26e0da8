import pytest

from legato.errors import EngineTimeout
from legato.worker.board import NoBoard, SlotState
from legato.worker.calls import EngineCall
from legato.worker.frames import Consumed
from legato.worker.watch import Watch, timeout_error
from tests.unit.worker.test_calls import LISTEN, SPEAK, Wire


class Watched(Wire):
    """A call under watch, in virtual time."""

    def __init__(self) -> None:
        super().__init__()
        self.board = NoBoard(2)
        self.watch = Watch(self.calls, self.board.state, timeout=10.0, clock=self.clock)

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
