"""An engine process logs as its worker does."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration

SCRIPT = """
import asyncio

from legato.bus.memory import MemoryBus
from legato.engines.base import EngineKind
from legato.telemetry.logs import configure
from legato.worker.config import EngineSpec, WorkerConfig
from legato.worker.runner import Worker

async def main():
    configure("json", "warning")
    spec = EngineSpec(
        kind=EngineKind.SYNTHESIZE,
        name="talkative",
        target="tests.integration.heavy_engines:Talkative",
        processes={processes},
    )
    async with Worker(MemoryBus(), WorkerConfig(engines=(spec,))) as worker:
        await worker.wait_ready()

asyncio.run(main())
"""


@pytest.mark.parametrize("processes", [1, 2], ids=["for itself", "in a template"])
def test_an_engine_process_logs_as_its_worker_does(processes: int, tmp_path: Path) -> None:
    script = tmp_path / "worker.py"
    script.write_text(textwrap.dedent(SCRIPT.format(processes=processes)))
    path = os.pathsep.join(part for part in sys.path if part)
    ended = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    lines = [json.loads(line) for line in ended.stderr.splitlines()]
    assert {line["level"] for line in lines} == {"warning"}
    events = [line["event"] for line in lines]
    assert events.count("a warning of ours") == 1
    assert events.count("a warning of a library") == 1
    assert sum("a warning of Python" in event for event in events) == 1
    ours = next(line for line in lines if line["event"] == "a warning of ours")
    assert (ours["logger"], ours["weights"]) == ("legato.engines.talkative", 3)
