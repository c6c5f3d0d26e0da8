import asyncio

from legato.gateway.reminders import LINGER, Reminders


class Debtor:
    """Notes when it was reminded."""

    def __init__(self) -> None:
        self.reminded: list[float] = []

    def remind(self, now: float) -> None:
        self.reminded.append(round(now - 1000.0, 6))


async def test_each_is_reminded_once_when_its_moment_is_over() -> None:
    reminders = Reminders()
    first, second, later = Debtor(), Debtor(), Debtor()
    reminders.note(first)
    await asyncio.sleep(LINGER / 4)
    reminders.note(second)
    await asyncio.sleep(LINGER * 0.74)
    assert first.reminded == []
    await asyncio.sleep(5 * LINGER)
    reminders.note(later)
    await asyncio.sleep(5 * LINGER)
    assert [first.reminded, second.reminded] == [[LINGER], [1.25 * LINGER]]
    assert len(later.reminded) == 1


async def test_without_debts_no_timer_runs() -> None:
    reminders = Reminders()
    reminders.note(Debtor())
    await asyncio.sleep(2 * LINGER)
    loop = asyncio.get_running_loop()
    before = loop.time()
    await asyncio.sleep(10.0)
    assert loop.time() == before + 10.0
