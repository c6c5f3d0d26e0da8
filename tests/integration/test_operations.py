"""What operators do, with gateways and workers as processes of their own on a real Redis."""

import asyncio
import json
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import pytest

from tests.integration.processes import TONES, Process, Server, run_legato
from tests.redis_ageing import Ageing
from tests.redis_server import RedisServer

pytestmark = [pytest.mark.integration, pytest.mark.requires("redis-server")]

DEADLINE = 15.0
LONG_LIVED = r"legato:e:\{\d+\}|legato:\{jobs\}:[ce]"
"""Keys of the bus itself, that name no stream: the server's epoch, the clock and list of queues."""

TOMBSTONE = r"legato:t:\{\d+\}:[0-9a-f]{32}"


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    server = RedisServer().start()
    yield server
    server.stop()


def role(name: str, redis: RedisServer, place: Path, *flags: str, **env: str) -> Process:
    args = (name, "--bus", redis.url, "--log-level", "warning", *flags)
    return Process(args, cwd=place, env={**TONES, **env})


def gateway(redis: RedisServer, place: Path, **env: str) -> Process:
    return role("gateway", redis, place, "--port", "0", **env)


def url_of(process: Process) -> str:
    found = re.search(r"ws://[^\s,]+", process.wait_for("listening on"))
    assert found is not None
    return found[0]


def speak(url: str, place: Path) -> Process:
    """Open a stream that stays open: its text comes from a pipe."""
    args = ("say", "-", "-o", "said.wav", "--url", url)
    return Process(args, cwd=place, stdin=subprocess.PIPE)


def say(process: Process, text: str) -> None:
    stdin: IO[bytes] | None = process.process.stdin
    assert stdin is not None
    stdin.write(text.encode())
    stdin.flush()


def read(place: Path, *args: str) -> Any:
    done = run_legato(*args, "--json", cwd=place)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.05)


def keys(redis: RedisServer) -> set[str]:
    return set(redis.cli("--scan").split())


def test_all_processes_are_seen_and_a_stream_is_forgotten(place: Path, redis: RedisServer) -> None:
    with ExitStack() as stack:
        gateways = [stack.enter_context(gateway(redis, place)) for _ in range(2)]
        workers = [stack.enter_context(role("worker", redis, place)) for _ in range(2)]
        urls = [url_of(process) for process in gateways]
        for process in (*gateways, *workers):
            process.wait_for("ready after")
        client = stack.enter_context(speak(urls[0], place))
        say(client, "A secret that is told to nobody. ")
        until(lambda: read(place, "status", "--bus", redis.url)["streams"] == 1)
        seen = read(place, "status", "--url", urls[1])
        assert [record["pid"] for record in seen["gateways"]] == sorted(p.pid for p in gateways)
        assert {record["pid"] for record in seen["workers"]} == {p.pid for p in workers}
        assert {record["state"] for record in seen["gateways"] + seen["workers"]} == {"ready"}
        (lease,) = seen["leases"]
        assert lease["worker"] in {record["name"] for record in seen["workers"]}
        table = run_legato("status", "--url", urls[1], cwd=place).stdout.decode()
        assert lease["stream_id"] in table

        receipt = read(place, "forget", "--stream", lease["stream_id"], "--url", urls[1])
        assert receipt["stream"] == lease["stream_id"]
        assert (receipt["erased"]["streams"], receipt["erased"]["jobs"]) == (1, 1)
        assert receipt["erased"]["entries"] > 0
        client.wait_for("session_expired")
        assert client.process.wait(DEADLINE) != 0
        assert not [key for key in keys(redis) if lease["stream_id"] in key]
        assert "secret" not in " ".join(line for p in gateways for line in p.said)

        assert gateways[0].interrupt(signal.SIGTERM) == 0
        assert workers[0].interrupt(signal.SIGTERM) == 0
        left = read(place, "status", "--bus", redis.url)
        assert [record["pid"] for record in left["gateways"]] == [gateways[1].pid]
        assert [record["pid"] for record in left["workers"]] == [workers[1].pid]


def test_a_tenant_is_forgotten_on_the_bus(place: Path, redis: RedisServer) -> None:
    with gateway(redis, place) as process, role("worker", redis, place) as worker:
        url = url_of(process)
        worker.wait_for("ready after")
        with speak(url, place) as one, speak(url, place) as two:
            for client in (one, two):
                say(client, "Hello. ")
            until(lambda: read(place, "status", "--bus", redis.url)["held"] == 2)
            receipt = read(place, "forget", "--tenant", "default", "--bus", redis.url)
            assert (receipt["erased"]["streams"], receipt["erased"]["jobs"]) == (2, 2)
            for client in (one, two):
                client.wait_for("session_expired")
        assert len(read(place, "status", "--bus", redis.url)["workers"]) == 1


async def age(redis: RedisServer, seconds: float) -> None:
    ageing = Ageing([redis])
    await ageing(seconds)
    await ageing.close()


def test_when_all_are_killed_nothing_is_left_after_five_minutes(
    place: Path, redis: RedisServer
) -> None:
    with ExitStack() as stack:
        process = stack.enter_context(gateway(redis, place))
        worker = stack.enter_context(role("worker", redis, place))
        url = url_of(process)
        worker.wait_for("ready after")
        held = stack.enter_context(speak(url, place))
        say(held, "Hello. ")
        until(lambda: read(place, "status", "--bus", redis.url)["held"] == 1)
        worker.interrupt(signal.SIGKILL)
        waiting = stack.enter_context(speak(url, place))
        say(waiting, "Hello. ")
        until(lambda: read(place, "status", "--bus", redis.url)["waiting"] == {"tone": 2})
        for killed in (process, held, waiting):
            killed.interrupt(signal.SIGKILL)
    asyncio.run(age(redis, 260))
    assert len([key for key in keys(redis) if ":j:" in key]) == 2, "jobs without a stream"

    with gateway(redis, place, LEGATO_GATEWAY__JANITOR_EVERY="0.2") as second:
        url_of(second)
        until(lambda: not [key for key in keys(redis) if ":j:" in key])
        assert second.interrupt(signal.SIGTERM) == 0
    asyncio.run(age(redis, 10))
    left = {key for key in keys(redis) if not re.fullmatch(LONG_LIVED, key)}
    assert left, "a tombstone or its trace"
    assert all(re.fullmatch(TOMBSTONE, key) for key in left), left


def test_a_server_by_itself_is_one_gateway_and_one_worker(place: Path, tone_server: Server) -> None:
    seen = read(place, "status", "--url", tone_server.url)
    assert {len(seen["gateways"]), len(seen["workers"])} == {1}
    assert seen["gateways"][0]["pid"] == seen["workers"][0]["pid"] == tone_server.process.pid
    receipt = read(place, "forget", "--stream", "no-such-stream", "--url", tone_server.url)
    assert set(receipt["erased"].values()) == {0}


def test_watching_looks_again_until_it_is_interrupted(place: Path, tone_server: Server) -> None:
    args = ("status", "--watch", "--json", "--url", tone_server.url)
    with Process(args, cwd=place, stdout=subprocess.PIPE) as watching:
        lines = watching.process.stdout
        assert lines is not None
        for _ in range(2):
            assert len(json.loads(lines.readline())["gateways"]) == 1
        assert watching.interrupt() == 130
