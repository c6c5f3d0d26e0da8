import asyncio
import time

import pytest

from legato.bus.memory.alarm import Alarm
from legato.errors import BusUnavailable
from tests.contract.buses import FakeClock


class Bell:
    """Counts rings and lets a test wait for one."""

    def __init__(self) -> None:
        self.rings = 0
        self.rung = asyncio.Event()

    def ring(self) -> None:
        self.rings += 1
        self.rung.set()

    async def wait(self) -> None:
        await asyncio.wait_for(self.rung.wait(), 5)
        self.rung.clear()


async def test_it_tells_the_time_of_its_clock() -> None:
    clock = FakeClock(7.0)
    assert Alarm(clock, lambda: None).now() == 7.0


async def test_it_rings_when_the_instant_has_come() -> None:
    bell = Bell()
    alarm = Alarm(time.monotonic, bell.ring)
    due = time.monotonic() + 0.03
    alarm.at(due)
    await bell.wait()
    assert time.monotonic() >= due - 0.002
    assert bell.rings == 1


async def test_an_earlier_instant_comes_first_and_a_later_one_does_not_delay_it() -> None:
    bell = Bell()
    alarm = Alarm(time.monotonic, bell.ring)
    now = time.monotonic()
    alarm.at(now + 60)
    alarm.at(now + 0.03)
    alarm.at(now + 90)
    await bell.wait()
    assert bell.rings == 1


async def test_it_can_be_set_again_after_it_rang() -> None:
    bell = Bell()
    alarm = Alarm(time.monotonic, bell.ring)
    alarm.at(0.0)
    await bell.wait()
    alarm.at(0.0)
    await bell.wait()
    assert bell.rings == 2


async def test_it_keeps_silent_after_it_was_closed() -> None:
    bell = Bell()
    alarm = Alarm(time.monotonic, bell.ring)
    alarm.at(0.0)
    alarm.close()
    alarm.close()
    alarm.at(0.0)
    witness = Bell()
    Alarm(time.monotonic, witness.ring).at(0.0)
    await witness.wait()
    assert bell.rings == 0
    assert alarm.closed
    with pytest.raises(BusUnavailable):
        alarm.now()
