import asyncio
from collections.abc import Sequence

import pytest

from legato.bus.base import Direction, Entry, StreamKey
from legato.bus.kept import read_kept
from legato.bus.memory import MemoryBus
from legato.bus.memory.logs import MemoryLogs
from legato.errors import ResumeGap, SessionExpired
from legato.protocol.messages import Flush

KEY = StreamKey("t", "s")


class FakeLogs(MemoryLogs):
    """Logs that somebody trims while they are read.

    Attributes:
        trims: Up to where, before each page; read from the end.
        gap: Raised instead of a page.
    """

    trims: list[int]
    gap: ResumeGap | None

    async def read(
        self, key: StreamKey, direction: Direction, *, after: int = 0, limit: int = 1000
    ) -> Sequence[Entry]:
        if self.trims:
            await self.trim(key, direction, upto=self.trims.pop())
        if self.gap is not None:
            raise self.gap
        return await super().read(key, direction, after=after, limit=10)


async def logs_with(count: int, *trims: int) -> FakeLogs:
    """Logs with so many entries of up."""
    bus = MemoryBus(clock=asyncio.get_running_loop().time)
    logs = bus.logs
    assert isinstance(logs, MemoryLogs)
    fake = FakeLogs.__new__(FakeLogs)
    fake.__dict__.update(logs.__dict__)
    fake.trims, fake.gap = list(reversed(trims)), None
    await fake.create(KEY, ttl=60.0)
    writer = fake.writer(KEY, Direction.UP)
    for seq in range(count):
        writer.append([Flush(seq=seq)])
    return fake


async def numbers(logs: FakeLogs) -> list[int]:
    return [entry.number for entry in await read_kept(logs, KEY, Direction.UP)]


async def test_an_empty_log_has_nothing() -> None:
    assert await numbers(await logs_with(0)) == []


@pytest.mark.parametrize("count", [1, 9, 10, 11, 25])
async def test_all_pages_are_read(count: int) -> None:
    assert await numbers(await logs_with(count)) == list(range(1, count + 1))


async def test_what_was_trimmed_before_is_passed_over() -> None:
    assert await numbers(await logs_with(25, 7)) == list(range(8, 26))


@pytest.mark.parametrize("trimmed", [3, 10, 12, 24, 25])
async def test_what_is_trimmed_meanwhile_is_not_there(trimmed: int) -> None:
    found = await numbers(await logs_with(25, 0, trimmed))
    # What had been read by then and is behind the last page may still be there; no hole is.
    assert found == list(range(26 - len(found), 26))
    assert not found or found[0] <= trimmed + 1


async def test_a_log_that_is_trimmed_whole_has_nothing() -> None:
    assert await numbers(await logs_with(5, 5)) == []


async def test_a_log_that_is_trimmed_again_and_again_is_read_to_its_end() -> None:
    assert await numbers(await logs_with(60, 1, 12, 12, 30)) == list(range(31, 61))


@pytest.mark.parametrize("missing", [None, (1, 1)])
async def test_a_gap_that_leads_nowhere_is_told(missing: tuple[int, int] | None) -> None:
    logs = await logs_with(1)
    logs.gap = ResumeGap("lost", missing=missing)
    with pytest.raises(ResumeGap, match="lost"):
        await numbers(logs)


async def test_a_log_that_is_gone_is_told() -> None:
    logs = await logs_with(1)
    await logs.delete(KEY)
    with pytest.raises(SessionExpired):
        await numbers(logs)
