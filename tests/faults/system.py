"""A whole system on loopback: Redis, gateways, workers, and a balancer before each of them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.faults.balancer import Balancer
from tests.faults.node import Node
from tests.redis_server import RedisServer

UNRULY = "tests.integration.unruly_engines"

ENGINES = [
    {"kind": "synthesize", "name": "tone", "slots": 64},
    {"kind": "recognize", "name": "tone", "slots": 64},
    {"kind": "synthesize", "name": "obedient", "slots": 8, "target": f"{UNRULY}:Obedient"},
    {"kind": "recognize", "name": "attentive", "slots": 8, "target": f"{UNRULY}:Attentive"},
    {"kind": "recognize", "name": "lethal", "slots": 8, "target": "tests.faults.engines:Lethal"},
]
"""`tone` runs in the worker; the others do as it does, in processes of their own."""

INLINE = ENGINES[:2]
"""Those that need no process, so that a worker is ready sooner."""

SETTINGS = {
    "LEGATO_WORKER__SYNTHESIZERS": '["tone"]',
    "LEGATO_WORKER__RECOGNIZERS": '["tone"]',
    "LEGATO_WORKER__ENGINE_TIMEOUT": "3",
    "LEGATO_GATEWAY__DRAIN_TIMEOUT": "2",
}
LEASE = 2.0
"""Seconds after which a silent worker's streams are another's (the default)."""

AOF = ("--appendonly", "yes", "--appendfsync", "everysec")
NO_PERSISTENCE: tuple[str, ...] = ()
TOMBSTONES = ("legato:t:", "legato:{jobs}:o:")
"""What stays for 300 s where a stream or a job was; holds no name, only a hash."""

JANITOR = "legato:k:{default/janitor}"
"""Whose turn it is to sweep; comes and goes at its own time."""

KEYS_TIMEOUT = 8.0
READY_TIMEOUT = 20.0
PROBE_TIMEOUT = 1.0
"""As long as orchestrators wait for a probe by default."""

_LOOK = 0.1


class System:
    """Some gateways and workers on one Redis, or all in one process with the embedded bus.

    Clients reach gateways through `front`; gateways and workers reach Redis through a link each,
    so that any of these ways can be cut, frozen or led elsewhere.

    Args:
        gateways: How many.
        workers: How many.
        redis: It, not started yet, or options of `redis-server`; None for `legato serve` with the
            embedded bus.
        env: Settings beyond `SETTINGS`.
        node_env: More of them for single nodes, by name.
        engines: Of each worker.
        python_path: Where Python looks first, for a `sitecustomize` of its own or another version.
    """

    def __init__(
        self,
        *,
        gateways: int = 2,
        workers: int = 2,
        redis: RedisServer | Sequence[str] | None = AOF,
        env: Mapping[str, str] | None = None,
        node_env: Mapping[str, Mapping[str, str]] | None = None,
        engines: Sequence[Mapping[str, object]] = ENGINES,
        python_path: Path | None = None,
    ) -> None:
        self._scratch = tempfile.TemporaryDirectory(prefix="legato-faults-")
        self.place = Path(self._scratch.name)
        self.redis = RedisServer(*redis) if isinstance(redis, Sequence) else redis
        self._engines = len(engines)
        self._env = {"LEGATO_WORKER__ENGINES": json.dumps(engines), **SETTINGS, **(env or {})}
        self._node_env = node_env or {}
        self._python_path = python_path
        self._counts = (gateways, workers)
        self.front = Balancer(lambda: [node.port for node in self.gateways if node.serves])
        self.links = {role: Balancer(self._redis_ports) for role in ("gateway", "worker")}
        self.gateways: list[Node] = []
        self.workers: list[Node] = []
        self.standby: RedisServer | None = None

    @property
    def url(self) -> str:
        """Where clients connect."""
        return f"ws://127.0.0.1:{self.front.port}"

    @property
    def nodes(self) -> list[Node]:
        """All of them, each once."""
        return list(dict.fromkeys((*self.gateways, *self.workers)))

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.stop()

    async def open(self) -> None:
        """Start everything, or nothing."""
        try:
            await self._start()
        except BaseException:
            await self.stop()
            raise

    async def _start(self) -> None:
        await self.front.start()
        if self.redis is None:
            self.gateways = self.workers = [self._node("serve", "serve", "memory:")]
        else:
            await asyncio.to_thread(self.redis.start)
            for link in self.links.values():
                await link.start()
            counts = dict(zip(("gateway", "worker"), self._counts, strict=True))
            self.gateways, self.workers = (
                [
                    self._node(f"{role}-{number}", role, self._bus(role))
                    for number in range(1, count + 1)
                ]
                for role, count in counts.items()
            )
        await self.mend()

    async def stop(self) -> None:
        """End everything."""
        await asyncio.gather(*(node.stop() for node in self.nodes))
        for balancer in (self.front, *self.links.values()):
            await balancer.stop()
        for redis in (self.redis, self.standby):
            if redis is not None:
                with suppress(ProcessLookupError):
                    redis.stop()
        self._scratch.cleanup()

    async def mend(self) -> None:
        """Thaw and start whatever is frozen, cut or dead; all gateways are ready then."""
        for balancer in (self.front, *self.links.values()):
            balancer.thaw()
        await asyncio.gather(*(node.start() for node in self.nodes if not node.runs))
        for node in self.gateways:
            complete = partial(is_complete, engines=self._engines)
            if not await until(complete, node.port, wanted=True, within=READY_TIMEOUT):
                raise RuntimeError(f"{node.name} does not get ready:\n{self.logs()}")

    async def redis_down(self, *, gently: bool) -> None:
        """End Redis: by SIGTERM, with its data on disk, or by SIGKILL."""
        redis = self._shared()
        if gently:
            os.kill(redis.pid, signal.SIGTERM)
            await asyncio.to_thread(_wait_for_end, redis)
        await asyncio.to_thread(redis.kill)

    async def redis_up(self) -> None:
        """Start Redis again, on its old port, with what is on disk."""
        await asyncio.to_thread(self._shared().start)

    def take_standby(self) -> None:
        """Lead all links to the standby, as a failover does."""
        old, self.redis = self._shared(), self.standby
        self.standby = old
        for link in self.links.values():
            link.cut("rst")

    async def keys(self) -> list[str]:
        """Names of the keys that are there, without tombstones and the janitor's turn."""
        if self.redis is None:
            return []
        listed = await asyncio.to_thread(self.redis.cli, "--scan", "--pattern", "legato:*")
        return [key for key in listed.splitlines() if not key.startswith((*TOMBSTONES, JANITOR))]

    async def gone(self, stream_ids: Collection[str]) -> tuple[dict[str, list[str]], float]:
        """Wait until no key of these streams is left; those that are, and the seconds it took."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        while left := _of_streams(stream_ids, await self.keys()):
            if loop.time() > began + KEYS_TIMEOUT:
                break
            await asyncio.sleep(_LOOK)
        return left, loop.time() - began

    def logs(self) -> str:
        """What all nodes said last."""
        parts = [f"--- {node.name}\n{node.tail()}" for node in self.nodes]
        if self.redis is not None:
            parts.append(f"--- redis\n{self.redis.log()}")
        return "\n".join(parts)

    def _shared(self) -> RedisServer:
        assert self.redis is not None
        return self.redis

    def _redis_ports(self) -> list[int]:
        return [] if self.redis is None else [self.redis.port]

    def _bus(self, role: str) -> str:
        return f"redis://127.0.0.1:{self.links[role].port}/0"

    def _node(self, name: str, command: str, bus: str) -> Node:
        args = (command, "--bus", bus, "--log-level", "info")
        env = {**self._env, **self._node_env.get(name, {})}
        return Node(name, args, self.place, env, python_path=self._python_path)


class SmallDisk(RedisServer):
    """A Redis that writes every command to a file system of its own, which can be full.

    Args:
        directory: Where that is mounted.
        size: Of it, as `mount` takes it.
    """

    def __init__(self, directory: Path, *, size: str) -> None:
        super().__init__(*AOF, "--dir", str(directory))
        self._mount = directory
        self._size = size

    def fill(self) -> None:
        """Leave no room on the disk."""
        self._inside("dd", "if=/dev/zero", f"of={self._mount}/ballast", "bs=4k")

    def make_room(self) -> None:
        """Remove what filled it."""
        self._inside("rm", "-f", f"{self._mount}/ballast")

    def stop(self) -> None:
        super().stop()
        self._mount.rmdir()

    def _command(self) -> list[str]:
        return [*self._mounting(), *super()._command()]

    def _mounting(self) -> list[str]:
        mount = f"mount -t tmpfs -o size={self._size} tmpfs {self._mount}"
        return ["unshare", "--mount", "sh", "-c", f'{mount} && exec "$@"', "sh"]

    def _inside(self, *command: str) -> None:
        entered = ["nsenter", "--mount", f"--target={self.pid}", *command]
        subprocess.run(
            entered, capture_output=True, timeout=10
        )  # dd ends with an error: it is full


def _of_streams(stream_ids: Collection[str], keys: list[str]) -> dict[str, list[str]]:
    found = {name: [key for key in keys if f"/{name}}}" in key] for name in stream_ids}
    return {name: mine for name, mine in found.items() if mine}


def _wait_for_end(redis: RedisServer) -> None:
    """Wait for a Redis that was asked to end; it writes its data first."""
    os.waitid(os.P_PID, redis.pid, os.WEXITED | os.WNOWAIT)


async def fetch(port: int, path: str) -> tuple[int, bytes]:
    """The status and body of an HTTP answer; status 0 if there is none in time."""
    request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    writer = None
    try:
        async with asyncio.timeout(PROBE_TIMEOUT):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request.encode())
            head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    except (OSError, TimeoutError):
        return 0, b""
    finally:
        if writer is not None:
            writer.close()
    words = head.split(maxsplit=2)
    return int(words[1]) if len(words) > 1 else 0, body


async def is_ready(port: int) -> bool:
    """Whether a gateway says so, as an orchestrator asks it."""
    return (await fetch(port, "/readyz"))[0] == HTTPStatus.OK


async def is_complete(port: int, *, engines: int) -> bool:
    """Whether a gateway is ready and knows every engine: some may be announced before others."""
    known, body = await fetch(port, "/v1/engines")
    return known == HTTPStatus.OK and body.count(b'"ready"') >= engines and await is_ready(port)


async def until(
    asks: Callable[[int], Awaitable[bool]], port: int, *, wanted: bool, within: float
) -> bool:
    """Ask a gateway until the answer is the wanted one; False if it is not in time."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + within
    while loop.time() < deadline:
        if await asks(port) == wanted:
            return True
        await asyncio.sleep(_LOOK)
    return False


async def eventually(holds: Callable[[], bool], timeout: float) -> bool:
    """Wait for what only can be looked at; False if it did not come in time."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout
    while not holds():
        if loop.time() > deadline:
            return False
        await asyncio.sleep(0.02)
    return True
