"""`legato models pull` as a process that is ended, gently or by force, and begun again."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.standins.hubs import Hubs, hubs

pytestmark = pytest.mark.integration

BIRD = "huggingface:lark/bird"
WEIGHTS = bytes(range(256)) * 8_000


@pytest.fixture
def hub() -> Iterator[Hubs]:
    with hubs() as hub:
        hub.files["lark/bird"] = {"model.bin": WEIGHTS, "tokens.txt": b"a\n"}
        yield hub


def start(hub: Hubs, data: Path, *args: str) -> subprocess.Popen[str]:
    env = {
        **os.environ,
        "LEGATO_MODELS__HUGGINGFACE": hub.url,
        "XDG_DATA_HOME": str(data),
        "NO_PROXY": "127.0.0.1",
    }
    command = [sys.executable, "-m", "legato", "models", *args]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=env, cwd=data, stdout=pipe, stderr=pipe, text=True)


def wait_for_half(data: Path) -> int:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        sizes = [part.stat().st_size for part in data.rglob("*.part")]
        if sizes and sizes[0] >= len(WEIGHTS) // 2:
            return sizes[0]
        time.sleep(0.02)
    raise AssertionError("half of the file did not come")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_pull_that_was_ended_goes_on_where_it_was(
    hub: Hubs, tmp_path: Path, number: signal.Signals
) -> None:
    faults = hub.faults["model.bin"]
    pace = faults.pace = threading.Event()
    ended = start(hub, tmp_path, "pull", BIRD)
    half = wait_for_half(tmp_path)
    busy = start(hub, tmp_path, "pull", BIRD)
    _, said = busy.communicate(timeout=30)
    assert (busy.returncode, "model_busy" in said) == (6, True)
    ended.send_signal(number)
    _, said = ended.communicate(timeout=30)

    if number is signal.SIGKILL:
        assert ended.returncode == -number
    else:
        assert ended.returncode == 128 + number
        assert "1.0 MB are kept; the same command goes on from there" in said
    pace.set()
    faults.pace = None
    again = start(hub, tmp_path, "pull", BIRD)
    printed, said = again.communicate(timeout=30)
    assert again.returncode == 0, said
    assert Path(printed.splitlines()[1], "model.bin").read_bytes() == WEIGHTS
    ranges = [one.headers.get("range") for one in hub.of("model.bin") if one.host == "cdn"]
    assert ranges[-1] == f"bytes={half}-"
