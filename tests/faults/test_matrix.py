"""Faults F01 to F32, one named test each: what is promised of each, on real processes.

Those here share one system; `test_matrix_apart` has those that need one of their own,
`test_matrix_upgrade` has two versions, and `test_matrix_whole` says where every other number is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Literal

import pytest

import legato
from legato.errors import LegatoError, StreamExists
from tests.faults.case import Case
from tests.faults.checker import Promise
from tests.faults.node import Node
from tests.faults.system import LEASE, System, eventually, fetch, is_ready, until
from tests.faults.workload import Plan, Speaker, mixed

pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.requires("redis-server"),
    pytest.mark.asyncio(loop_scope="module"),
]

ECHO = Plan(task="echo", bystander=True)
RESUMED = Promise(stall=3.0)
TAKEN_OVER = Promise(stall=LEASE + 3.0, told=LEASE + 1.0)
"""A lease and the replay; a worker that starts beside it takes its share of two cores."""


@pytest.mark.parametrize("spoilt", ["lost", "doubled"])
async def test_one_frame_too_few_or_too_many_is_found(case: Case, spoilt: str) -> None:
    """What all cases rest on: a single spoilt frame in a whole stream is no secret."""
    how: Literal["lost", "doubled"] = "lost" if spoilt == "lost" else "doubled"
    async with case.streams([replace(plan, spoilt=how, paced=False) for plan in mixed(1)]):
        pass
    assert list(case.codes().values()) == ["ok"] * 3
    broken = {(v.stream[-1], v.invariant) for v in case.violations()}
    assert broken >= {("0", "I3"), ("1", "I3"), ("2", "I2")}
    assert (("0", "I1") in broken) == (spoilt == "lost")
    assert {"up", "down"} <= {e.facts["direction"] for e in case.history if e.op == "entry"}


@pytest.mark.parametrize("how", ["cut_rst", "cut_fin"])
async def test_f01_a_cut_connection_loses_nothing(case: Case, how: str) -> None:
    async with case.streams(mixed(1)):
        for _ in range(2):
            await case.moment(1.0, streams=3)
            await case.fault("cut_rst" if how == "cut_rst" else "cut_fin")
    assert case.violations(RESUMED) == []


async def test_f01_a_connection_cut_while_streams_open_loses_nothing(case: Case) -> None:
    """Who has no connection yet is told so at once; who has one gets its stream."""
    plans = [Plan(task="recognize", duration=1.0)] * 20
    async with case.streams(plans, clients=4):
        await asyncio.sleep(case.rng.uniform(0.03, 0.1))
        await case.fault("cut_rst")
    promise = Promise(codes=frozenset({"connection_lost"}), surfaced=1.0, stall=3.0)
    assert case.violations(promise) == []


async def test_f02_a_killed_gateway_loses_nothing(case: Case) -> None:
    async with case.streams(mixed(1, duration=4.0)):
        await case.moment(streams=3)
        for number in (0, 1):
            await case.fault("gateway_kill", choice=number)
    assert case.violations(RESUMED) == []


async def test_f04_a_killed_worker_loses_nothing(case: Case) -> None:
    async with case.streams(mixed(1, duration=4.0, engines=True)):
        await case.moment(streams=5)
        for number in (0, 1):
            await case.fault("worker_kill", choice=number)
    assert case.violations(TAKEN_OVER) == []


async def test_f04_a_killed_engine_process_loses_nothing(case: Case) -> None:
    async with case.streams(mixed(1, engines=True)):
        await case.moment(streams=5)
        await case.fault("engine_kill")
    assert case.violations(RESUMED) == []


async def test_f05_a_worker_that_wakes_up_too_late_writes_nothing(case: Case) -> None:
    async with case.streams(mixed(1)):
        await case.moment(0.5, streams=3)
        for number in (0, 1):
            await case.fault("worker_stop", LEASE + 1, choice=number)
    assert case.violations(TAKEN_OVER) == []


@pytest.mark.parametrize("task", ["synthesize", "recognize"])
async def test_f06_a_stuck_engine_fails_its_stream_alone(case: Case, task: str) -> None:
    stuck = poisoned(task, "hold")
    promise = Promise(codes=frozenset({"engine_timeout"}))
    async with case.streams([stuck, replace(ECHO, duration=5.0)]):
        pass
    assert case.violations(promise, lag=0.1) == []
    assert sorted(case.codes().values()) == ["engine_timeout", "ok"]


@pytest.mark.parametrize("task", ["synthesize", "recognize"])
async def test_f07_poison_ends_an_engine_process_and_its_stream_alone(
    case: Case, task: str
) -> None:
    promise = Promise(codes=frozenset({"engine_failed"}))
    async with case.streams([poisoned(task, "abort"), ECHO]):
        pass
    assert case.violations(promise, lag=0.1) == []
    assert sorted(case.codes().values()) == ["engine_failed", "ok"]


async def test_f07_poison_that_kills_workers_is_given_up_after_three(
    case: Case, shared: System
) -> None:
    before = sum(worker.deaths for worker in shared.workers)
    restarting = asyncio.create_task(keep_up(shared.workers))
    async with case.streams([poisoned("recognize", "abort", engine="lethal"), Plan(task="echo")]):
        pass
    restarting.cancel()
    await asyncio.wait((restarting,))
    assert case.violations(Promise(codes=frozenset({"engine_failed"}))) == []
    assert sorted(case.codes().values()) == ["engine_failed", "ok"]
    assert sum(worker.deaths for worker in shared.workers) - before == 3


@pytest.mark.parametrize("how", ["redis_restart", "redis_kill"])
async def test_f08_a_redis_that_comes_back_with_its_data_loses_nothing(
    case: Case, how: str
) -> None:
    async with case.streams(mixed(1)):
        await case.moment(streams=3)
        await case.fault("redis_restart" if how == "redis_restart" else "redis_kill", 1.0)
    assert case.violations(Promise(stall=5.0)) == []


async def test_f11_a_full_redis_refuses_what_is_new_and_goes_on_when_there_is_room(
    case: Case, shared: System
) -> None:
    redis = shared.redis
    assert redis is not None
    await case.prepare([])
    case.begin_fault("out_of_memory")
    redis.cli("config", "set", "maxmemory", "1mb")
    try:
        async with legato.connect(shared.url) as client:
            await asyncio.wait_for(case.speaker(client, ECHO).run(), 10)
    finally:
        redis.cli("config", "set", "maxmemory", "0")
    async with case.streams([replace(ECHO, duration=0.5)]):
        pass
    assert list(case.codes().values()) == ["overloaded", "ok"]
    codes = frozenset({"overloaded"})
    others = [v for v in case.violations(Promise(codes=codes, surfaced=1.0)) if v.invariant != "I8"]
    assert others == []


async def test_f12_a_redis_that_hangs_for_a_moment_loses_nothing(case: Case) -> None:
    async with case.streams(mixed(1)):
        await case.moment(streams=3)
        await case.fault("redis_stop", 2.0)
    assert case.violations(Promise(stall=5.0)) == []


async def test_f12_a_redis_that_hangs_is_told_and_streams_are_bounded(
    case: Case, shared: System
) -> None:
    async with case.streams(mixed(1)):
        await case.moment(0.5, streams=3)
        hang = asyncio.create_task(case.fault("redis_stop", 7.0))
        port = shared.gateways[0].port
        assert await until(is_ready, port, wanted=False, within=5.0)
        assert (await fetch(port, "/healthz"))[0] == HTTPStatus.OK
        await hang
        assert await until(is_ready, port, wanted=True, within=6.0)
    promise = Promise(codes=frozenset({"bus_unavailable"}), surfaced=10.0)
    assert case.violations(promise) == []


@pytest.mark.parametrize("role", ["gateway", "worker"])
async def test_f13_a_partition_loses_nothing(case: Case, role: str) -> None:
    async with case.streams(mixed(1)):
        await case.moment(streams=3)
        await case.fault("gateway_partition" if role == "gateway" else "worker_partition", 3.0)
    assert case.violations(Promise(stall=3.0 + 5.0)) == []


async def test_f14_a_reset_on_the_way_to_redis_is_not_noticed(case: Case) -> None:
    async with case.streams(mixed(1)):
        for _ in range(3):
            await case.moment(0.5, streams=3)
            await case.fault("link_reset")
    assert case.violations(Promise(stall=2.0)) == []


async def test_f15_another_gateway_refuses_an_id_that_runs(case: Case, shared: System) -> None:
    refused = []
    async with case.streams([replace(ECHO, duration=2.0)]):
        await case.moment(0.2)
        running = next(event.stream for event in case.history if event.op == "audio")
        for gateway in shared.gateways:
            async with legato.connect(f"ws://127.0.0.1:{gateway.port}") as client:
                try:
                    async with client.echo(b"\0\0" * 320, stream_id=running) as other:
                        await anext(other)
                except LegatoError as error:
                    refused.append(type(error))
    assert refused == [StreamExists, StreamExists]
    assert case.violations(lag=0.1) == []


@pytest.mark.parametrize("how", ["half_open", "blackout"])
async def test_f21_a_connection_that_falls_silent_is_replaced(case: Case, how: str) -> None:
    async with case.streams(mixed(1)):
        await case.moment(streams=3)
        await (case.fault("half_open") if how == "half_open" else case.fault("blackout", 3.0))
    assert case.violations(Promise(stall=6.0)) == []


async def test_f26_a_storm_of_reconnections_loses_nothing(case: Case) -> None:
    plans = [Plan(task="recognize", variant=number % 2) for number in range(40)]
    async with case.streams(plans, clients=20):
        await case.moment(0.5, streams=40)
        await case.fault("cut_rst")
    assert case.violations(Promise(stall=5.0)) == []


async def test_f27_a_rolling_restart_loses_nothing(case: Case, shared: System) -> None:
    async with case.streams(mixed(1, duration=5.0)):
        await case.moment(0.5, streams=3)
        await case.fault("rolling")
    assert case.violations(RESUMED) == []
    assert {node.name: node.exit_code for node in shared.nodes} == dict.fromkeys(
        (node.name for node in shared.nodes), 0
    )


async def test_f28_what_is_stopped_while_its_worker_hangs_is_gone_for_good(
    case: Case, shared: System
) -> None:
    await case.prepare([ECHO])
    async with legato.connect(shared.url) as client:
        speaker = case.speaker(client, replace(ECHO, duration=10.0))
        running = asyncio.create_task(speaker.run())
        await case.moment(0.3)
        for worker in shared.workers:
            worker.freeze()
        try:
            running.cancel()  # leaving the stream's block stops it
            await asyncio.wait((running,))
            left, since = await shared.gone([speaker.stream_id])
        finally:
            for worker in shared.workers:
                worker.thaw()
        assert (left, since < 5.0) == ({}, True)
        async with case.streams([replace(ECHO, duration=2.0)]):  # the workers write by now
            pass
    left, since = await shared.gone([speaker.stream_id])
    assert (left, since < 1.0) == ({}, True)


async def test_f30_a_gateway_without_descriptors_keeps_its_streams_and_recovers(
    case: Case, shared: System
) -> None:
    await case.prepare([ECHO])
    resource = pytest.importorskip("resource")
    limits = {node: resource.prlimit(node.pid, resource.RLIMIT_NOFILE) for node in shared.gateways}
    async with case.streams([replace(ECHO, duration=4.0)]):
        await case.moment(0.2)
        crowd = []
        try:
            for node, (_, hard) in limits.items():
                soft = node.usage()["fds"] + 3
                resource.prlimit(node.pid, resource.RLIMIT_NOFILE, (soft, hard))
                crowd += [await asyncio.open_connection("127.0.0.1", node.port) for _ in range(20)]
            await case.moment(1.0)
        finally:
            for _, writer in crowd:
                writer.transport.abort()
            for node, limit in limits.items():
                resource.prlimit(node.pid, resource.RLIMIT_NOFILE, limit)
        async with legato.connect(shared.url) as client:
            await asyncio.wait_for(
                Speaker(
                    client, replace(ECHO, duration=0.3), case.history, stream_id=f"{id(case)}-late"
                ).run(),
                10,
            )
    assert set(case.codes().values()) == {"ok"}
    assert case.violations(lag=0.1) == []


async def test_f31_forgotten_scripts_are_loaded_again(case: Case) -> None:
    async with case.streams(mixed(1)):
        for _ in range(2):
            await case.moment(0.5, streams=3)
            await case.fault("script_flush")
    assert case.violations(Promise(stall=2.0)) == []


async def test_f31_a_redis_that_is_read_only_for_a_moment_loses_nothing(
    case: Case, shared: System
) -> None:
    redis = shared.redis
    assert redis is not None
    async with case.streams(mixed(1)):
        await case.moment(streams=3)
        case.begin_fault("read_only")
        redis.cli("replicaof", "127.0.0.1", "1")
        await asyncio.sleep(1.0)
        redis.cli("replicaof", "no", "one")
    assert case.violations(Promise(stall=4.0)) == []


async def test_i7_after_all_that_nothing_is_left(case: Case, shared: System) -> None:
    """Runs last: 20 more streams, cut in the middle, leave what 20 before them left."""
    plans = [Plan(task="recognize", duration=1.0)] * 20
    await case.prepare(plans)
    for phase in ("warm", "before", "after"):
        async with case.streams(plans, clients=4):
            await case.moment(0.3, streams=20)
            await case.fault("cut_rst")
        if phase != "warm":
            await case.usage(phase)
    assert case.violations() == []


async def keep_up(nodes: Sequence[Node]) -> None:
    """Start what dies again, as a supervisor does."""
    while await eventually(lambda: not all(node.runs for node in nodes), 60):
        await asyncio.gather(*(node.launch() for node in nodes if not node.runs))


def poisoned(task: str, poison: str, *, engine: str = "") -> Plan:
    """A stream whose engine does as `poison` says, half-way."""
    return Plan(
        task="synthesize" if task == "synthesize" else "recognize",
        engine=engine or ("obedient" if task == "synthesize" else "attentive"),
        poison="hold" if poison == "hold" else "abort",
        duration=2.0,
    )
