"""`legato bench` as a user types it: real processes, real servers."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.integration

BENCH = [sys.executable, "-m", "legato", "bench"]
FIELDS = {
    "name", "value", "unit", "bound", "ok", "n", "p50", "p95", "p99", "spread", "machine", "note",
}  # fmt: skip


def bench(*arguments: str, timeout: float = 110.0) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*BENCH, *arguments], capture_output=True, text=True, timeout=timeout)


def measured(*arguments: str) -> dict[str, dict[str, Any]]:
    result = bench(*arguments, "--quick", "--json")
    assert result.returncode == 0, result.stderr
    rows = json.loads(result.stdout)
    assert all(set(row) == FIELDS for row in rows)
    return {row["name"]: row for row in rows}


def test_rows_for_programs_go_to_stdout_and_progress_to_stderr() -> None:
    result = bench("session.frame", "wire.protobuf", "--json")
    assert result.returncode == 0
    rows = {row["name"]: row for row in json.loads(result.stdout)}
    assert rows["session.frame"]["bound"] == 12
    assert rows["session.frame"]["n"] == 15
    assert rows["session.frame"]["ok"] is (rows["session.frame"]["value"] <= 12)
    assert rows["wire.protobuf.bytes.640"]["value"] == 652
    assert rows["wire.protobuf.bytes.640"]["ok"] is None
    assert all(set(row) == FIELDS for row in rows.values())
    assert result.stderr.splitlines() == ["legato: session.frame", "legato: wire.protobuf"]


def test_a_table_for_people_has_the_same_rows() -> None:
    result = bench("wire.protobuf")
    assert result.returncode == 0
    assert "wire.protobuf.cpu.6400" in result.stdout
    assert "standard library" in result.stdout


def test_what_there_is_can_be_listed() -> None:
    result = bench("--list", "echo")
    assert "echo.cpu.vs_pipecat at most 0.5 x" in result.stdout
    assert "wire" not in result.stdout


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["ecko"], "no benchmark is called 'ecko'; there are serve.ready"),
        (["wire", "--docs", "page.md"], "--docs takes the table of all rows"),
        (["--docs", "no-such-page.md"], "no-such-page.md"),
    ],
)
def test_what_cannot_be_done_is_refused_before_the_run(arguments: list[str], reason: str) -> None:
    result = bench(*arguments, timeout=20)
    assert result.returncode == 2
    assert reason in result.stderr


def test_a_missed_row_fails_only_when_asked_to() -> None:
    nowhere = ["echo.cpu", "--pipecat", "no-such-python", "--quick", "--json"]
    result = bench(*nowhere, "--strict")
    assert result.returncode == 1, result.stderr
    rows = {row["name"]: row for row in json.loads(result.stdout)}
    assert (rows["echo.cpu.vs_pipecat"]["value"], rows["echo.cpu.vs_pipecat"]["ok"]) == (None, None)
    assert "no-such-python" in rows["echo.cpu.vs_pipecat"]["note"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "names",
    [
        ["serve", "speak", "cancel"],
        ["listen.final"],
        ["echo.latency", "idle.memory", "idle.10000"],
        pytest.param(
            ["redis.400", "redis.1000", "memory.2000", "websockets"],
            marks=pytest.mark.requires("redis-server"),
        ),
        pytest.param(["resume.crowd", "worker.killed"], marks=pytest.mark.requires("redis-server")),
        pytest.param(["soak"], marks=pytest.mark.requires("redis-server")),
    ],
    ids=lambda names: names[0],
)
def test_the_whole_system_is_measured_from_outside(names: list[str]) -> None:
    rows = measured(*names)
    assert rows
    # On a busy machine the load generator is late, or others take the cores, and that must be said.
    busy = ("the load generator was late", "other work took")
    unknown = [row for row in rows.values() if row["value"] is None]
    assert [row for row in unknown if not any(word in row["note"] for word in busy)] == []


@pytest.mark.slow
@pytest.mark.requires("pocketsphinx-testdata")
def test_word_errors_are_listed() -> None:
    row = measured("listen.word_errors")["listen.word_errors"]
    assert row["n"] == 71
    assert row["note"].startswith("5 clips, 71 words, ")
    assert row["value"] == (0 if row["note"].endswith("none") else row["note"].count(";") + 1)


def test_ctrl_c_leaves_no_server_behind() -> None:
    process = subprocess.Popen(
        [*BENCH, "listen.final"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    try:
        server = child_of(process.pid)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "Traceback" not in said
    with pytest.raises(ProcessLookupError):
        os.kill(server, 0)


def child_of(pid: int, timeout: float = 30.0) -> int:
    """The first child of a process, once it has one."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        if found := children.read_text().split():
            return int(found[0])
        time.sleep(0.05)
    raise TimeoutError(f"process {pid} has no child")
