"""Systems for whole modules, seeds for cases, and what is shown of a case that fails."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Generator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.faults.case import Case
from tests.faults.system import System

CASE = pytest.StashKey[Case]()

OpenCase = Callable[[System], Case]

FIRST_SEED = 1


def seeds() -> list[int]:
    """`FAULT_SEED` names one; `FAULT_SEEDS` says how many; without them there is one."""
    if "FAULT_SEED" in os.environ:
        return [int(os.environ["FAULT_SEED"])]
    count = int(os.environ.get("FAULT_SEEDS", "1"))
    return list(range(FIRST_SEED, FIRST_SEED + count))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", seeds(), ids=lambda seed: f"seed{seed}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    case = item.stash.get(CASE, None)
    if case is not None and report.when == "call" and report.failed:
        case.history.save()
        report.sections.append(("history", str(case.history.path)))
        report.sections.append(("nodes", case.system.logs()))
        report.sections.append(("again", again(item)))
    return report


def again(item: pytest.Item) -> str:
    """The command that runs a case once more with the same seed."""
    path = Path(str(item.path)).relative_to(item.config.rootpath)
    name = getattr(item, "originalname", item.name)
    seed = item.callspec.params["seed"] if hasattr(item, "callspec") else FIRST_SEED
    return f"FAULT_SEED={seed} .venv/bin/python -m pytest {path} -k {name}"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared() -> AsyncIterator[System]:
    """Two gateways, two workers, and a Redis with its data on disk; mended before each case."""
    async with System() as system:
        yield system


@pytest.fixture
def open_case(seed: int, tmp_path: Path, request: pytest.FixtureRequest) -> OpenCase:
    """Opens a case on a system of the test's own."""

    def make(system: System) -> Case:
        count = len(list(tmp_path.glob("history-*.jsonl")))
        made = Case(system, seed=seed, path=tmp_path / f"history-{count + 1}.jsonl")
        request.node.stash[CASE] = made
        return made

    return make


@pytest_asyncio.fixture(loop_scope="module")
async def case(shared: System, open_case: OpenCase) -> AsyncIterator[Case]:
    """A case on the shared system."""
    yield open_case(shared)
    await shared.mend()
