import asyncio

import pytest

from legato.worker.line import WaitingLine
from tests.unit.worker.stage import eventually


class Slots:
    """Some slots, and the line before them."""

    def __init__(self, free: int, *, quiet: float = 60, news_every: float = 60) -> None:
        self.free = free
        self.line = WaitingLine(quiet=quiet, news_every=news_every)
        self.served: list[str] = []
        self.told: list[tuple[str, int]] = []

    def stand(self, name: str) -> "asyncio.Task[str]":
        def attempt() -> str | None:
            if self.free <= 0:
                return None
            self.free -= 1
            self.served.append(name)
            return name

        def queued(place: int) -> None:
            self.told.append((name, place))

        return asyncio.create_task(self.line.stand(attempt, queued=queued))

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
