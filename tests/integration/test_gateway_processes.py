"""Several gateway processes on one port: any may be killed, and nothing is lost."""

import asyncio
import os
import re
import signal
import time
import urllib.request
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

import pytest

import legato
from tests.integration.processes import TONES, Process, processes, run_legato
from tests.integration.test_resume import TEXT, spoken
from tests.redis_server import RedisServer

pytestmark = [pytest.mark.integration, pytest.mark.requires("redis-server")]

CLIENTS = 16
"""So many that it is as good as certain that both of two processes have some."""


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    server = RedisServer().start()
    yield server
    server.stop()


@contextmanager
def running(redis: RedisServer, place: Path, *args: str) -> Iterator[tuple[Process, str]]:
    flags = ("--bus", redis.url, "--port", "0", "--log-level", "warning")
    with Process((*args, *flags), cwd=place, env=TONES) as process:
        found = re.search(r"ws://[^\s,]+", process.wait_for("listening on"))
        assert found is not None
        process.wait_for("ready after")
        yield process, found[0]


def gateways(process: Process) -> set[int]:
    """Ids of the gateway processes."""
    return {
        pid
        for pid, parent, _ in processes()
        if parent == process.pid and b"--listen-fd" in Path(f"/proc/{pid}/cmdline").read_bytes()
    }


def replaced(process: Process, before: set[int]) -> set[int]:
    deadline = time.monotonic() + 20
    while len(now := gateways(process)) < len(before) or now == before:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return now


async def speak_while(url: str, interfere: int | None) -> list[tuple[tuple[int, str], int]]:
    """Have many clients speak at once, killing a process in the midst of it."""
    async with AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(legato.connect(url, pool_size=1))
            for _ in range(CLIENTS)
        ]
        speeches = [client.speak(TEXT, pace=20) for client in clients]
        chunks = 0

        def count(_number: int) -> None:
            nonlocal chunks
            chunks += 1
            if chunks == 10 * CLIENTS and interfere is not None:
                os.kill(interfere, signal.SIGKILL)

        prints = await asyncio.gather(*(spoken(speech, count) for speech in speeches))
        return [(one, speech.resumes) for one, speech in zip(prints, speeches, strict=True)]


async def test_streams_go_on_when_one_of_two_processes_is_killed(
    place: Path, redis: RedisServer
) -> None:
    with running(redis, place, "serve", "--processes", "2") as (process, url):
        before = gateways(process)
        assert len(before) == 2
        undisturbed = await speak_while(url, None)

        disturbed = await speak_while(url, min(before))

        assert {one for one, _ in disturbed} == {undisturbed[0][0]}
        assert 0 < sum(1 for _, resumes in disturbed if resumes) < CLIENTS
        after = await asyncio.to_thread(replaced, process, before)
        assert after > before - {min(before)}
        for words in ("gateway process died", "gateway process replaced"):
            await asyncio.to_thread(process.wait_for, words)
        assert process.interrupt(signal.SIGTERM) == 0
        assert process.left() == []


def test_gateway_processes_end_with_their_parent(place: Path, redis: RedisServer) -> None:
    with running(redis, place, "gateway", "--processes", "2") as (process, _):
        pids = gateways(process)
        process.interrupt(signal.SIGKILL)
        deadline = time.monotonic() + 20
        while pids & {pid for pid, _, _ in processes()}:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_metrics_of_all_processes_are_added_up(place: Path, redis: RedisServer) -> None:
    with running(redis, place, "serve", "--processes", "2") as (process, url):
        for _ in range(6):
            assert run_legato("say", "One.", "--json", "--url", url, cwd=place).returncode == 0
        for _ in range(4):
            with urllib.request.urlopen(f"http{url[2:]}/metrics", timeout=5) as answer:
                found = re.search(
                    r'legato_streams_total\{[^}]*"ok"[^}]*\} (\S+)', answer.read().decode()
                )
            assert found is not None
            assert float(found[1]) == 6
        assert process.interrupt() == 0


def test_two_fleets_cannot_have_one_port(place: Path, redis: RedisServer) -> None:
    with running(redis, place, "gateway", "--processes", "2") as (_, url):
        port = url.rpartition(":")[2]
        flags = ("--processes", "2", "--bus", redis.url, "--port", port)
        done = run_legato("gateway", *flags, cwd=place)
        assert b"port_in_use" in done.stderr


def test_a_fleet_whose_processes_cannot_start_says_why(place: Path, redis: RedisServer) -> None:
    flags = ("--processes", "2", "--bus", redis.url, "--port", "0", "--tls-cert", "missing.pem")
    done = run_legato("gateway", *flags, cwd=place)
    assert done.returncode == 2
    assert b"bad_certificate" in done.stderr
