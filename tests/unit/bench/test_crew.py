from pathlib import Path

import msgspec
import pytest

from legato.bench.crew import crew, outcomes
from legato.bench.process import ServerFailed

pytestmark = pytest.mark.integration

PROGRAM = """\
import json, sys
plan = json.loads(sys.stdin.readline())
if plan["number"] < 0:
    raise SystemExit("out of order")
print("{}", flush=True)
if plan["number"] == 0:
    raise SystemExit("no more")
print(json.dumps({"twice": 2 * plan["number"]}))
"""


class Plan(msgspec.Struct, kw_only=True):
    number: int


class Outcome(msgspec.Struct, kw_only=True):
    twice: int


@pytest.fixture(autouse=True)
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bench_program.py").write_text(PROGRAM)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


async def test_each_process_gets_its_plan_and_answers() -> None:
    async with crew("bench_program", [Plan(number=1), Plan(number=2)]) as processes:
        found = await outcomes(processes, Outcome, within=1.0)
    assert [one.twice for one in found] == [2, 4]
    assert all(process.returncode is not None for process in processes)


async def test_a_process_that_does_not_begin_says_why() -> None:
    with pytest.raises(ServerFailed, match="out of order"):
        async with crew("bench_program", [Plan(number=-1)]):
            pass


async def test_a_process_that_ends_without_a_word_is_told() -> None:
    async with crew("bench_program", [Plan(number=0)]) as processes:
        with pytest.raises(ServerFailed, match="no more"):
            await outcomes(processes, Outcome, within=1.0)
