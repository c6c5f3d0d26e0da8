"""Gateways and workers as processes of their own, meeting on a real Redis."""

import asyncio
import json
import re
import signal
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType
from typing import Final

import pytest

import legato
from legato.errors import EngineUnavailable
from tests.integration.processes import TONES, Process, run_legato
from tests.redis_server import RedisServer

NOTHING: Final[Mapping[str, str]] = MappingProxyType({})

pytestmark = [pytest.mark.integration, pytest.mark.requires("redis-server")]


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    server = RedisServer().start()
    yield server
    server.stop()


def role(
    name: str, redis: RedisServer, place: Path, *flags: str, env: Mapping[str, str] = NOTHING
) -> Process:
    args = (name, "--bus", redis.url, "--log-level", "warning", *flags)
    return Process(args, cwd=place, env={**TONES, **env})


def said(place: Path, gateway: Process, text: str) -> dict[str, object]:
    listening = next(line for line in gateway.said if "listening on" in line)
    found = re.search(r"ws://[^\s,]+", listening)
    assert found is not None
    done = run_legato("say", text, "--json", "--url", found[0], cwd=place)
    assert done.returncode == 0, done.stderr
    report: dict[str, object] = json.loads(done.stdout)
    return report


def test_two_gateways_and_two_workers_speak_the_same(place: Path, redis: RedisServer) -> None:
    with ExitStack() as stack:
        gateways = [
            stack.enter_context(role("gateway", redis, place, "--port", "0")) for _ in range(2)
        ]
        workers = [stack.enter_context(role("worker", redis, place)) for _ in range(2)]
        for process in (*gateways, *workers):
            process.wait_for("ready after")
        reports = [said(place, gateway, "Two of each.") for gateway in gateways]
        assert reports[0]["sha256"] == reports[1]["sha256"]
        assert all(report["intact"] for report in reports)
        codes = [process.interrupt(signal.SIGTERM) for process in (*gateways, *workers)]
        assert codes == [0, 0, 0, 0]
        assert [process.left() for process in workers] == [[], []]


def test_a_new_worker_serves_when_the_first_was_killed(place: Path, redis: RedisServer) -> None:
    with role("gateway", redis, place, "--port", "0") as gateway:
        gateway.wait_for("ready after")
        with role("worker", redis, place) as first:
            first.wait_for("ready after")
            before = said(place, gateway, "Still here.")
            first.interrupt(signal.SIGKILL)
        with role("worker", redis, place) as second:
            second.wait_for("ready after")
            assert said(place, gateway, "Still here.")["sha256"] == before["sha256"]


async def test_a_stream_whose_only_worker_is_gone_is_told_and_ends_in_time(
    place: Path, redis: RedisServer
) -> None:
    told: list[str] = []
    env = {"LEGATO_GATEWAY__WORKER_WAIT": "4"}
    with role("gateway", redis, place, "--port", "0", env=env) as gateway:
        found = re.search(r"ws://[^\s,]+", gateway.wait_for("listening on"))
        assert found is not None
        with role("worker", redis, place) as worker:
            worker.wait_for("ready after")
            await asyncio.to_thread(said, place, gateway, "Still here.")
            worker.interrupt(signal.SIGKILL)
        async with legato.connect(found[0]) as client:
            speech = client.speak("Is anybody there?")  # its record lives for some seconds more
            speech.on_notice = lambda notice: told.append(notice.message or "")
            with pytest.raises(EngineUnavailable) as caught:
                await asyncio.wait_for(anext(aiter(speech)), 30)
    assert told == ["no worker for tone is there; waiting for one"]
    assert caught.value.retry_after is not None


def test_a_worker_can_be_watched(place: Path, redis: RedisServer) -> None:
    with role("worker", redis, place, "--metrics-port", "0") as worker:
        found = re.search(r"http://127\.0\.0\.1:\d+", worker.wait_for("metrics on"))
        assert found is not None
        worker.wait_for("ready after")
        bodies = {}
        for path in ("healthz", "readyz", "metrics"):
            with urllib.request.urlopen(f"{found[0]}/{path}", timeout=5) as answer:
                bodies[path] = answer.read().decode()
        assert (bodies["healthz"], bodies["readyz"]) == ("ok\n", "ready\n")
        assert "legato_jobs_active" in bodies["metrics"]
        assert worker.interrupt(signal.SIGTERM) == 0
        assert worker.left() == []


@pytest.mark.parametrize("name", ["gateway", "worker"])
def test_a_role_alone_needs_a_bus_that_is_shared(place: Path, name: str) -> None:
    done = run_legato(name, cwd=place)
    assert done.returncode != 0
    assert b"bad_settings" in done.stderr
    assert b"--bus" in done.stderr


def test_a_redis_that_is_not_there_is_told_plainly(place: Path) -> None:
    done = run_legato("worker", "--bus", "redis://127.0.0.1:1/0", cwd=place)
    assert b"bus_unavailable" in done.stderr
    assert b"Traceback" not in done.stderr
