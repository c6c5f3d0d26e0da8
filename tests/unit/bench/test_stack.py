import asyncio
import sys
from pathlib import Path

import pytest

from legato.bench import stack
from legato.bench.process import ServerFailed
from legato.settings import load


def exists(path: str) -> bool:
    return Path(path).exists()


def test_legato_is_that_of_this_python() -> None:
    assert stack.legato("worker") == [sys.executable, "-m", "legato", "worker"]
    observed = stack.legato("worker", report="here.json")
    assert observed == [sys.executable, "-m", "legato.bench.observed", "here.json", "worker"]


async def test_the_settings_of_a_run_are_settings() -> None:
    async with stack.settings_file(1.5) as path:
        settings = (await asyncio.to_thread(load, file=Path(path))).settings
    assert settings.gateway.resume_window == 1.5
    assert settings.worker.echo_slots == 20_000
    assert [engine.name for engine in settings.worker.engines] == ["tone"]
    assert not exists(path)


async def test_without_redis_its_benchmarks_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ServerFailed, match="redis-server is not installed"):
        async with stack.redis_server():
            pass


@pytest.mark.integration
@pytest.mark.requires("redis-server")
async def test_a_redis_of_its_own_is_gone_with_the_block() -> None:
    async with stack.redis_server() as (running, url):
        assert url.startswith("redis://127.0.0.1:")
        assert exists(f"/proc/{running.pid}")
    assert not exists(f"/proc/{running.pid}")
