import asyncio

import msgspec
import pytest

from legato.bus.base import Claim
from legato.bus.redis import RedisBus
from legato.bus.redis.encoding import encode_job
from legato.bus.redis.jobs import RedisJobs
from legato.bus.redis.keys import Keys, digest
from legato.bus.redis.pushes import Pushes
from legato.errors import BusUnavailable, Internal
from tests.contract.buses import arrive, job, stream
from tests.redis_server import RedisServer
from tests.unit.bus.redis.fakes import FakeServers, commands
from tests.unit.bus.redis.lines import Line

TONE = ("tone",)


async def test_every_key_of_a_job_has_an_end_and_no_name(
    bus: RedisBus, server: RedisServer
) -> None:
    for name in ("secret-a", "secret-b", "secret-c"):
        await bus.jobs.submit(job(name))
    claims = [await bus.jobs.claim(TONE, "w", lease=5, wait=0) for _ in range(2)]
    assert claims[0] is not None
    await bus.jobs.finish(claims[0])
    assert await bus.jobs.claim(("echo",), "w", lease=5, wait=0.01) is None
    line = Line(server)
    keys = line("KEYS", "*")
    assert isinstance(keys, list)
    assert [key for key in keys if line("PTTL", key) == -1] == []
    assert [key for key in keys if b"secret" in key] == []


async def test_nothing_is_left_of_a_withdrawn_job(bus: RedisBus, server: RedisServer) -> None:
    await bus.jobs.submit(job())
    await bus.jobs.withdraw(stream())
    line = Line(server)
    assert line("EXISTS", f"legato:{{jobs}}:j:{digest(stream())}") == 0
    assert line("ZCARD", "legato:{jobs}:q:tone") == 0


async def test_a_worker_that_waits_does_not_ask_again_and_again(bus: RedisBus) -> None:
    await arrive(lambda: bus.is_idle)
    before = bus.counts()["calls"]
    assert await bus.jobs.claim(TONE, "w", lease=5, wait=0.3) is None
    assert bus.counts()["calls"] - before <= 2


async def test_a_worker_that_waits_looks_when_a_lease_runs_out(
    bus: RedisBus, peer: RedisBus
) -> None:
    await bus.jobs.submit(job())
    held = await bus.jobs.claim(TONE, "w1", lease=0.2, wait=0)
    assert held is not None
    taken = await asyncio.wait_for(peer.jobs.claim(TONE, "w2", lease=5, wait=60), 5)
    assert taken is not None
    assert taken.fence > held.fence
    assert taken.deliveries == 2


async def test_a_worker_that_waits_is_told_on_its_new_channel(
    bus: RedisBus, peer: RedisBus, server: RedisServer
) -> None:
    waiting = asyncio.create_task(peer.jobs.claim(TONE, "w", lease=5, wait=60))
    line = Line(server)
    await arrive(lambda: line("ZCARD", "legato:{jobs}:w:tone") == 1)
    server.cli("client", "kill", "type", "pubsub")
    await arrive(lambda: line("ZCARD", "legato:{jobs}:w:tone") == 2)
    await bus.jobs.submit(job())
    assert await asyncio.wait_for(waiting, 2) is not None


async def test_a_job_of_a_later_version_is_left_to_a_later_worker(
    bus: RedisBus, server: RedisServer
) -> None:
    await bus.jobs.submit(job())
    line = Line(server)
    line("HSET", f"legato:{{jobs}}:j:{digest(stream())}", "d", msgspec.msgpack.encode([1, 2]))
    assert await bus.jobs.claim(TONE, "w", lease=5, wait=0) is None
    assert line("ZCARD", "legato:{jobs}:h") == 1


class Desk:
    """Jobs and the servers that they are asked of."""

    def __init__(self) -> None:
        self.servers = FakeServers()
        keys = Keys("legato")
        self.jobs = RedisJobs(self.servers, Pushes(self.servers, keys), keys)

    def claim(self) -> asyncio.Task[Claim | None]:
        return asyncio.create_task(self.jobs.claim(TONE, "w", lease=5, wait=60))

    async def asked(self) -> list[bytes]:
        """Wait for a call and return its command."""
        await arrive(lambda: bool(self.servers.asked))
        return commands(self.servers.asked[0])[0]


async def test_a_job_that_comes_to_who_does_not_want_it_any_more_is_given_back() -> None:
    desk = Desk()
    claim = desk.claim()
    await desk.asked()
    claim.cancel()
    await asyncio.sleep(0)
    desk.servers.answer([encode_job(job()), b"77", 1])
    release = await desk.asked()
    assert not claim.done(), "it is over when the job is back"
    assert release[-2:] == [digest(stream()).encode(), b"77"]
    desk.servers.answer([])
    await asyncio.wait([claim])
    assert claim.cancelled()
    assert desk.jobs.counts() == {"waiting_workers": 0, "claims": 0}


async def test_a_claim_that_is_cancelled_twice_is_given_back_all_the_same() -> None:
    desk = Desk()
    claim = desk.claim()
    await desk.asked()
    claim.cancel()
    await asyncio.sleep(0)
    claim.cancel()
    await asyncio.wait([claim])
    desk.servers.answer([encode_job(job()), b"77", 1])
    assert (await desk.asked())[-1] == b"77"
    desk.servers.answer([])
    await desk.jobs.closed()


@pytest.mark.parametrize("reply", [[-1], BusUnavailable("away")], ids=["nothing", "unknown"])
async def test_who_is_cancelled_with_nothing_in_hand_gives_nothing_back(reply: object) -> None:
    desk = Desk()
    claim = desk.claim()
    await desk.asked()
    claim.cancel()
    await asyncio.sleep(0)
    desk.servers.answer(reply)
    await asyncio.wait([claim])
    assert claim.cancelled()
    assert desk.servers.asked == []


async def test_who_serves_no_engine_waits_without_asking() -> None:
    desk = Desk()
    assert await desk.jobs.claim((), "w", lease=5, wait=0.001) is None
    assert desk.servers.asked == []


async def test_another_reply_is_not_understood() -> None:
    desk = Desk()
    claim = desk.claim()
    await desk.asked()
    desk.servers.answer([b"one", b"two"])
    with pytest.raises(Internal):
        await claim


async def test_a_hint_wakes_who_waits_for_that_engine() -> None:
    desk = Desk()
    claim = desk.claim()
    await desk.asked()
    desk.servers.answer([-1])
    await asyncio.sleep(0)
    desk.jobs.job_waits("echo")
    await asyncio.sleep(0)
    assert desk.servers.asked == []
    desk.jobs.job_waits("tone")
    await desk.asked()
    desk.servers.answer([encode_job(job()), b"77", 1])
    assert await claim is not None


async def test_who_has_waited_longest_asks_first(bus: RedisBus) -> None:
    first, second = (
        asyncio.create_task(bus.jobs.claim(TONE, name, lease=5, wait=60)) for name in ("a", "b")
    )
    await arrive(lambda: bus.counts()["waiting_workers"] == 2 and bus.counts()["claims"] == 0)
    await bus.jobs.submit(job())
    claim = await asyncio.wait_for(first, 5)
    assert claim is not None
    assert claim.holder == "a"
    second.cancel()
    await asyncio.wait([second])
