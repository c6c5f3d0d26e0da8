import asyncio
import time
from collections.abc import Callable

import pytest

from legato.worker.line import TENANTS, WaitingLine
from legato.worker.turns import Caller
from tests.unit.gateway.virtual import VirtualLoop
from tests.unit.worker.stage import eventually


class Slots:
    """Some slots, and the line before them."""

    def __init__(
        self,
        free: int,
        *,
        quiet: float = 60,
        news_every: float = 60,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.free = free
        self.line = WaitingLine(quiet=quiet, news_every=news_every, clock=clock)
        self.served: list[str] = []
        self.told: list[tuple[str, int]] = []

    def stand(
        self, name: str, *, caller: Caller | None = None, patience: float = 60
    ) -> "asyncio.Task[str]":
        def attempt() -> str | None:
            if self.free <= 0:
                return None
            self.free -= 1
            self.served.append(name)
            return name

        def queued(place: int) -> None:
            self.told.append((name, place))

        return asyncio.create_task(
            self.line.stand(attempt, caller=caller or Caller(), patience=patience, queued=queued)
        )

    def add(self, count: int) -> None:
        self.free += count
        self.line.wake()


async def test_who_finds_a_free_slot_does_not_wait() -> None:
    slots = Slots(1)
    assert await slots.stand("a") == "a"
    assert len(slots.line) == 0
    slots.line.wake()


async def test_who_came_first_is_served_first() -> None:
    slots = Slots(0)
    tasks = [slots.stand(name) for name in "abc"]
    await eventually(lambda: len(slots.line) == 3)
    slots.free = 1
    late = slots.stand("d")
    await asyncio.sleep(0)
    assert slots.served == [], "nobody overtakes those who wait"
    slots.line.wake()
    await asyncio.wait_for(tasks[0], 5)
    slots.add(3)
    assert await asyncio.gather(*tasks, late) == ["a", "b", "c", "d"]
    assert slots.served == ["a", "b", "c", "d"]


async def test_who_leaves_makes_way() -> None:
    slots = Slots(0)
    first, second = slots.stand("a"), slots.stand("b")
    await eventually(lambda: len(slots.line) == 2)
    slots.free = 1
    first.cancel()
    assert await asyncio.wait_for(second, 5) == "b"


async def test_who_fails_lets_the_next_try() -> None:
    def attempt() -> str | None:
        if not broken:
            return None
        raise ValueError(broken)

    broken = False
    line = WaitingLine()
    tasks = [asyncio.create_task(line.stand(attempt)) for _ in range(3)]
    await eventually(lambda: len(line) == 3)
    broken = True
    line.wake()
    results = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 5)
    assert [type(result) for result in results] == [ValueError] * 3


async def test_who_waits_for_long_is_told_the_place_once_and_when_it_changes() -> None:
    slots = Slots(0, quiet=0.01, news_every=0.01)
    first, second = slots.stand("a"), slots.stand("b")
    await eventually(lambda: len(slots.told) == 2)
    assert slots.told == [("a", 1), ("b", 2)]
    slots.add(1)
    await first
    await eventually(lambda: len(slots.told) == 3)
    assert slots.told[2] == ("b", 1)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second


async def test_streams_under_way_come_before_new_ones() -> None:
    slots = Slots(0)
    new = slots.stand("new")
    await eventually(lambda: len(slots.line) == 1)
    known = slots.stand("known", caller=Caller(under_way=True))
    await eventually(lambda: len(slots.line) == 2)
    slots.add(1)
    assert await asyncio.wait_for(known, 5) == "known"
    slots.add(1)
    await asyncio.wait_for(new, 5)


async def test_one_tenants_thousand_do_not_keep_another_waiting() -> None:
    slots = Slots(0)
    many = [slots.stand(f"m{n}", caller=Caller(tenant="many")) for n in range(1_000)]
    few = slots.stand("few", caller=Caller(tenant="few"))
    await eventually(lambda: len(slots.line) == 1_001)
    slots.add(2)
    assert await asyncio.wait_for(few, 5) == "few"
    assert slots.served == ["m0", "few"]
    slots.add(999)
    await asyncio.gather(*many)
    assert slots.served[2:] == [f"m{n}" for n in range(1, 1_000)]


async def test_only_so_many_tenants_are_remembered() -> None:
    slots = Slots(TENANTS + 10)
    for number in range(TENANTS + 10):
        await slots.stand("x", caller=Caller(tenant=str(number)))
    assert len(slots.line._served) == TENANTS  # noqa: SLF001  a bound of its own


async def test_who_waits_while_nobody_is_served_gives_up() -> None:
    slots = Slots(0)
    with pytest.raises(TimeoutError):
        await slots.stand("a", patience=0.01)
    assert len(slots.line) == 0


async def moving_line() -> None:
    slots = Slots(0, clock=asyncio.get_running_loop().time)
    last = slots.stand("last", patience=0.5, caller=Caller(patient=True))
    await asyncio.sleep(0)
    for number in range(8):
        before = slots.stand(str(number))
        await asyncio.sleep(0.1)
        slots.add(1)
        await before
    assert not last.done()
    slots.add(1)
    assert await last == "last"


def test_nobody_gives_up_while_the_line_moves() -> None:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(moving_line())


async def test_the_line_tells_how_long_the_first_has_waited() -> None:
    slots = Slots(0)
    assert slots.line.longest == 0.0
    waiting = slots.stand("a")
    await eventually(lambda: slots.line.longest > 0)
    slots.add(1)
    await waiting
