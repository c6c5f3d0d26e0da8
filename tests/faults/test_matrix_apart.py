"""Faults that need a system of their own: other settings, another Redis, or none at all."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

import legato
from tests.faults.balancer import Balancer
from tests.faults.checker import Promise
from tests.faults.conftest import OpenCase
from tests.faults.system import LEASE, NO_PERSISTENCE, SmallDisk, System, eventually
from tests.faults.workload import Plan, mixed
from tests.redis_ageing import Ageing
from tests.redis_server import RedisServer

pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.requires("redis-server"),
    pytest.mark.asyncio(loop_scope="module"),
]

LOST = Promise(codes=frozenset({"epoch_changed"}), surfaced=8.0)
"""What a Redis forgot is resent by the client, or the stream says so; never is it silent."""

WINDOW = 3.0


async def test_f03_a_killed_server_of_one_process_is_replayed_to(open_case: OpenCase) -> None:
    async with System(redis=None) as system:
        case = open_case(system)
        async with case.streams(mixed(1, duration=4.0)):
            await case.moment(1.0, streams=3)
            await case.fault("gateway_kill")
        assert case.violations(Promise(stall=6.0)) == []


async def test_f09_a_redis_that_forgot_everything_is_never_silent(open_case: OpenCase) -> None:
    async with System(redis=NO_PERSISTENCE) as system:
        case = open_case(system)
        async with case.streams(mixed(1)):
            await case.moment(1.0, streams=3)
            await case.fault("redis_kill", 0.5)
        assert case.violations(LOST) == []
        again = open_case(system)
        async with again.streams(mixed(2, duration=1.0)):
            pass
        assert again.violations() == []


async def test_f10_a_failover_that_loses_its_tail_is_never_silent(open_case: OpenCase) -> None:
    async with System(redis=NO_PERSISTENCE) as system, replicated(system) as link:
        case = open_case(system)
        master, replica = system.redis, system.standby
        assert master is not None
        assert replica is not None
        async with case.streams(mixed(1)):
            await case.moment(0.5, streams=3)
            link.freeze()
            await case.moment(0.5, streams=3)
            case.begin_fault("failover")
            tail = offset(master) - offset(replica)
            await system.redis_down(gently=False)
            link.cut("rst")
            replica.cli("replicaof", "no", "one")
            system.take_standby()
        assert tail > 0
        assert case.violations(LOST) == []


@asynccontextmanager
async def replicated(system: System) -> AsyncIterator[Balancer]:
    """Give a system a standby that follows its Redis, through the link that this gives."""
    master = system.redis
    assert master is not None
    link = Balancer(lambda: [master.port])
    await link.start()
    follow = ("--replicaof", "127.0.0.1", str(link.port), "--repl-diskless-sync-delay", "0")
    system.standby = replica = RedisServer(*NO_PERSISTENCE, *follow)
    try:
        await asyncio.to_thread(replica.start)
        linked = "master_link_status:up"
        assert await eventually(lambda: linked in replica.cli("info", "replication"), 15)
        yield link
    finally:
        await link.stop()


def offset(redis: RedisServer) -> int:
    """How much of the history of writes a Redis has."""
    lines = redis.cli("info", "replication").splitlines()
    name = "slave_repl_offset" if "role:slave" in lines else "master_repl_offset"
    return int(next(line for line in lines if line.startswith(name)).partition(":")[2])


async def test_f17_wall_clocks_that_jump_an_hour_change_nothing(
    open_case: OpenCase, tmp_path: Path
) -> None:
    jumped = tmp_path / "jumped"
    path = Path(__file__).parent / "skewed"
    hours = {"gateway-1": 3600, "gateway-2": -3600, "worker-1": -3600, "worker-2": 3600}
    env = {
        name: {"LEGATO_SKEW": str(skew), "LEGATO_SKEW_FILE": str(jumped)}
        for name, skew in hours.items()
    }
    async with System(node_env=env, python_path=path) as system:
        case = open_case(system)
        async with case.streams(mixed(1)):
            await case.moment(1.0, streams=3)
            case.begin_fault("clock_jump")
            jumped.touch()
        assert case.violations(Promise(stall=3.0)) == []
        async with case.streams(mixed(2, duration=1.0)):
            pass
        assert case.violations(Promise(stall=3.0)) == []
        assert {node.name: node.clock_skew() for node in system.nodes} == hours


async def test_f17_a_redis_whose_clock_jumps_past_all_leases_loses_nothing(
    open_case: OpenCase,
) -> None:
    async with System() as system:
        case = open_case(system)
        assert system.redis is not None
        ageing = Ageing([system.redis])
        async with case.streams(mixed(1)):
            await case.moment(1.0, streams=3)
            case.begin_fault("clock_jump")
            await ageing(LEASE + 3)
        await ageing.close()
        assert case.violations(Promise(stall=LEASE + 1)) == []


@pytest.mark.requires("own mounts")
async def test_f23_a_full_disk_is_told_and_nobody_dies(open_case: OpenCase) -> None:
    redis = SmallDisk(Path(tempfile.mkdtemp(prefix="legato-disk-")), size="3m")
    codes = frozenset({"overloaded", "bus_unavailable"})
    async with System(redis=redis) as system:
        case = open_case(system)
        plans = mixed(1, duration=2.0)
        await case.prepare(plans)
        case.begin_fault("disk_full")
        redis.fill()
        async with case.streams(plans):
            pass
        assert "MISCONF" in redis.cli("set", "legato:any", "thing")
        others = [v for v in case.violations(Promise(codes=codes, surfaced=10)) if v.stream]
        assert others == []
        assert all(node.runs for node in system.nodes)
        redis.make_room()
        again = open_case(system)
        assert await eventually(lambda: "PONG" in redis.cli("ping"), 10)
        async with again.streams(mixed(2, duration=1.0)):
            pass
        assert again.violations() == []


async def test_f29_what_everybody_left_behind_ends_by_itself(open_case: OpenCase) -> None:
    async with System(gateways=1, workers=1) as system:
        case = open_case(system)
        await case.prepare([Plan(task="echo")])
        assert system.redis is not None
        client = legato.connect(system.url)
        speaker = case.speaker(client, Plan(task="echo", duration=30.0))
        running = asyncio.create_task(speaker.run())
        await case.moment(0.3)
        for node in system.nodes:
            await node.kill()
        running.cancel()
        await asyncio.wait((running,))
        await client.close()
        keys = [key for key in await system.keys() if speaker.stream_id in key]
        assert keys
        assert all(int(system.redis.cli("pttl", key)) > 0 for key in keys)
        ageing = Ageing([system.redis])
        await ageing(601.0)
        await ageing.close()
        await system.mend()
        left, _ = await system.gone([speaker.stream_id])
        assert left == {}
        async with case.streams([Plan(task="echo", duration=0.5)]):  # its job troubles nobody
            pass


async def test_f29_a_client_that_never_comes_back_is_forgotten_after_the_window(
    open_case: OpenCase,
) -> None:
    async with System(env={"LEGATO_GATEWAY__RESUME_WINDOW": str(WINDOW)}) as system:
        case = open_case(system)
        await case.prepare([Plan(task="echo")])
        client = legato.connect(system.url)
        speaker = case.speaker(client, Plan(task="echo", duration=30.0))
        running = asyncio.create_task(speaker.run())
        await case.moment(0.3)
        system.front.close()
        system.front.cut("rst")
        _, since = await system.gone([speaker.stream_id])
        running.cancel()
        await asyncio.wait((running,))
        await client.close()
        assert WINDOW - 1 < since < WINDOW + 3
        assert {key for key in await system.keys() if speaker.stream_id in key} == set()
