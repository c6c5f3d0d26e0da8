"""A server that says what it holds, for the soak."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest


@pytest.mark.integration
def test_a_server_says_what_it_holds_when_it_is_asked(tmp_path: Path) -> None:
    report = tmp_path / "held.json"
    config = tmp_path / "legato.toml"
    config.write_text('[worker]\nengines = [{ kind = "recognize", name = "tone" }]\n')
    options = ["serve", "--port", "0", "--config", str(config)]
    process = subprocess.Popen(
        [sys.executable, "-m", "legato.bench.observed", str(report), *options],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        for line in process.stderr:
            if "ready after" in line:
                break
        os.kill(process.pid, signal.SIGUSR2)
        deadline = time.monotonic() + 20
        while not report.exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert json.loads(report.read_text())["tasks"] > 0
    finally:
        process.terminate()
        process.communicate(timeout=20)
    assert process.returncode == 0
