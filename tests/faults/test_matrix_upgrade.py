"""F32: two versions on one Redis, while nodes are replaced one by one under load."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

import legato
from tests.faults.case import Case
from tests.faults.checker import Promise
from tests.faults.conftest import OpenCase
from tests.faults.earlier import LABEL, unpack
from tests.faults.node import Node, code_path, unmeasured
from tests.faults.system import INLINE, System, fetch
from tests.faults.workload import Plan, mixed
from tests.integration.processes import environment

pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.requires("redis-server", "earlier commit"),
    pytest.mark.asyncio(loop_scope="module"),
]

RESUMED = Promise(stall=3.0)

LONG = 6.0
"""Seconds of the streams that live through several replacements."""

YOUNG = [Plan(task=task, variant=3, duration=1.0) for task in ("echo", "synthesize", "recognize")]
"""Streams that begin between two replacements: made by one version, done by either."""

BRIEF = {"LEGATO_GATEWAY__DRAIN_TIMEOUT": "0.5"}
"""Streams outlast it: they move to other nodes, of the other version."""

FOLDER = Path(__file__).parent


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The earlier version's code."""
    return unpack(tmp_path_factory.mktemp("earlier"))


async def test_f32_an_upgrade_under_load_loses_nothing(open_case: OpenCase, earlier: Path) -> None:
    async with System(engines=INLINE, env=BRIEF, python_path=earlier) as system:
        await replaced(open_case(system), earlier=earlier, code=None)


async def test_f32_a_roll_back_under_load_loses_nothing(open_case: OpenCase, earlier: Path) -> None:
    async with System(engines=INLINE, env=BRIEF) as system:
        await replaced(open_case(system), earlier=earlier, code=earlier)


async def replaced(case: Case, *, earlier: Path, code: Path | None) -> None:
    """Lead every node to other code, with streams of both client libraries under way."""
    system = case.system
    before = await versions(system)
    plans, others = mixed(1, duration=LONG), mixed(2, duration=LONG)
    await case.prepare([*plans, *others, *YOUNG])
    between: list[set[str]] = []
    async with (
        case.streams(plans),
        speaking(case, others, earlier),
        legato.connect(system.url) as client,
        asyncio.TaskGroup() as group,
    ):
        await case.moment(0.5, streams=len(plans))
        for node in in_some_order(case):
            case.begin_fault("replacement")
            node.python_path = code
            assert await node.terminate() == 0
            await node.start()
            between.append(await versions(system))
            for plan in YOUNG:
                group.create_task(case.speaker(client, plan).run())
        async with speaking(case, YOUNG, earlier):
            pass
    assert case.violations(RESUMED) == []
    assert set(case.codes().values()) == {"ok"}
    assert len(case.codes()) == len(plans) + len(others) + len(YOUNG) * (len(system.nodes) + 1)
    libraries = [event.facts["version"] for event in case.history if event.op == "library"]
    assert [version.endswith(LABEL) for version in libraries] == [True, True]
    kinds = [is_earlier(before), *map(is_earlier, between), is_earlier(await versions(system))]
    assert kinds == [{not code}, *[{True, False}] * 3, {bool(code)}, {bool(code)}]


def in_some_order(case: Case) -> Sequence[Node]:
    """All nodes, as the seed has it; both roles are of two versions in the end and in between."""
    nodes = list(case.system.nodes)
    case.rng.shuffle(nodes)
    return nodes


def is_earlier(found: set[str]) -> set[bool]:
    """Of which kinds versions are."""
    return {version.endswith(LABEL) for version in found}


async def versions(system: System) -> set[str]:
    """What all processes on the bus say they are."""
    status, body = await fetch(system.gateways[0].port, "/v1/cluster")
    assert status == 200, body
    cluster = json.loads(body)
    return {process["version"] for process in (*cluster["gateways"], *cluster["workers"])}


@asynccontextmanager
async def speaking(case: Case, plans: Sequence[Plan], code: Path) -> AsyncIterator[None]:
    """Run streams of the client library of `code` beside the block, and to their ends."""
    told = [
        {
            "stream_id": case.name(plan),
            "task": plan.task,
            "variant": plan.variant,
            "duration": plan.duration,
        }
        for plan in plans
    ]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        str(FOLDER / "speakers.py"),
        case.system.url,
        json.dumps(told),
        env=unmeasured(environment(code_path(code))),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    listening = asyncio.create_task(_listen(process, case))
    try:
        yield
        await listening
    finally:
        listening.cancel()
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _listen(process: asyncio.subprocess.Process, case: Case) -> None:
    """Take what a process tells into the history of the case."""
    assert process.stdout is not None
    assert process.stderr is not None
    async for line in process.stdout:
        event = json.loads(line)
        proc, op, kind = (event.pop(name) for name in ("proc", "op", "type"))
        event.pop("t")  # it is now, and of the same clock
        case.history.record(proc, op, kind, **event)
    said = await process.stderr.read()
    assert await process.wait() == 0, said.decode(errors="replace")
