import asyncio

import pytest

from legato.bus.base import Claim
from legato.bus.redis.keys import digest
from legato.bus.redis.link import ReplyError
from legato.bus.redis.renewals import MOST, Renewals
from legato.errors import BusUnavailable, LegatoError, Overloaded
from tests.contract.buses import job, stream
from tests.unit.bus.redis.fakes import FakeServers, commands


class Desk:
    """Renewals and the servers that they are asked of."""

    def __init__(self) -> None:
        self.servers = FakeServers()
        self.renewals = Renewals(self.servers, "{jobs}")

    async def renew(self, *fences: int, lease_ms: int = 2000) -> "list[asyncio.Task[bool]]":
        """Begin to renew leases in one turn."""
        tasks = [
            asyncio.create_task(
                self.renewals.renew(
                    Claim(job=job(f"s{fence}"), fence=fence, deliveries=1, holder="w"),
                    lease_ms=lease_ms,
                    keep_ms=9000,
                )
            )
            for fence in fences
        ]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return tasks


async def test_leases_of_one_turn_are_renewed_by_one_script() -> None:
    desk = Desk()
    tasks = await desk.renew(7, 8)
    names = [digest(stream(name)).encode() for name in ("s7", "s8")]
    ((command,),) = (commands(call) for call in desk.servers.asked)
    keys = [b"{jobs}:h"]
    for name in names:
        keys += [b"{jobs}:j:" + name, b"{jobs}:q:tone"]
    assert command[2:] == [b"5", *keys, b"2000", b"9000", names[0], b"7", names[1], b"8"]
    desk.servers.answer([1, 0])
    assert [await task for task in tasks] == [True, False]


async def test_leases_of_other_lengths_and_of_later_turns_are_asked_for_alone() -> None:
    desk = Desk()
    await desk.renew(1)
    await desk.renew(2)
    later = await desk.renew(3, lease_ms=500)
    assert len(desk.servers.asked) == 3
    desk.servers.answer([1])
    desk.servers.answer([1])
    desk.servers.answer([1])
    assert await later[0]


async def test_one_script_does_not_take_too_many() -> None:
    desk = Desk()
    tasks = await desk.renew(*range(MOST + 1))
    assert len(desk.servers.asked) == 2
    desk.servers.answer([1] * MOST)
    desk.servers.answer([0])
    assert [await task for task in tasks] == [True] * MOST + [False]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [(BusUnavailable("away"), BusUnavailable), (ReplyError("OOM command not allowed"), Overloaded)],
)
async def test_what_goes_wrong_is_told_to_all(
    answer: LegatoError | ReplyError, kind: type[LegatoError]
) -> None:
    desk = Desk()
    tasks = await desk.renew(1, 2, 3)
    tasks[1].cancel()
    await asyncio.sleep(0)
    desk.servers.answer(answer)
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [kind, asyncio.CancelledError, kind]
