"""A redis-server of the tests' own: on a free port, in a temporary directory, gone at the end."""

from __future__ import annotations

import atexit
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path

START_TIMEOUT = 10.0
ATTEMPTS = 5


class RedisServer:
    """One process, ended by its id.

    Args:
        options: Of `redis-server`, such as ("--appendonly", "yes").
        port: To listen on, or 0 for a free one; the same port again after `kill` and `start`.
    """

    def __init__(self, *options: str, port: int = 0) -> None:
        self._options = options
        self._directory: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self.port = port

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> RedisServer:
        """Start, on another port if somebody was quicker to take the free one."""
        chosen = self.port
        self._directory = self._directory or Path(tempfile.mkdtemp(prefix="legato-redis-"))
        for _ in range(ATTEMPTS):
            self.port = chosen or free_port()
            self._process = subprocess.Popen(
                self._command(), stdout=subprocess.DEVNULL, cwd=self._directory
            )
            if self._answers():
                return self
            self.kill()
        raise RuntimeError(f"redis-server does not start: {self.log()}")

    def log(self) -> str:
        """What it has written of itself."""
        path = self._directory and self._directory / "log"
        return path.read_text()[-2000:] if path and path.exists() else ""

    def cli(self, *command: str) -> str:
        """Send a command and return what comes back."""
        line = ["redis-cli", "-p", str(self.port), *command]
        return subprocess.run(line, capture_output=True, check=True, text=True, timeout=10).stdout

    def freeze(self) -> None:
        """Let it hang: connections stay open and nothing is answered."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """End it at once; what was not persisted is lost."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(START_TIMEOUT)
            self._process = None

    def stop(self) -> None:
        """End it and remove what it left."""
        self.kill()
        if self._directory is not None:
            shutil.rmtree(self._directory)

    def _command(self) -> list[str]:
        defaults = {
            "--port": str(self.port),
            "--bind": "127.0.0.1",
            "--logfile": "log",
            "--save": "",
            "--appendonly": "no",
        }
        flat = [part for pair in defaults.items() for part in pair]
        return ["redis-server", *flat, *self._options]

    def _answers(self) -> bool:
        assert self._process is not None
        deadline = time.monotonic() + START_TIMEOUT
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                    connection.sendall(b"PING\r\n")
                    if connection.recv(64).startswith(b"+PONG"):
                        return self._process.poll() is None
            except OSError:
                pass
            time.sleep(0.01)
        return False

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)


def free_port() -> int:
    """Return a port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@cache
def shared_server() -> RedisServer:
    """The server of all tests that do no harm to it; every use begins with an empty one."""
    server = RedisServer().start()
    atexit.register(server.stop)
    return server


SHARES = ((0, 5460), (5461, 10922), (10923, 16383))
"""Slots of the three nodes of a Cluster."""


def start_cluster() -> list[RedisServer]:
    """Start three masters without replicas, and wait until they know each other."""
    options = ("--cluster-enabled", "yes", "--cluster-node-timeout", "1000")
    nodes = [RedisServer(*options).start() for _ in SHARES]
    for node, (first, last) in zip(nodes, SHARES, strict=True):
        node.cli("cluster", "addslotsrange", str(first), str(last))
        nodes[0].cli("cluster", "meet", "127.0.0.1", str(node.port))
    deadline = time.monotonic() + START_TIMEOUT
    while not all("cluster_state:ok" in node.cli("cluster", "info") for node in nodes):
        if time.monotonic() > deadline:
            raise RuntimeError(f"the Cluster does not form: {nodes[0].log()}")
        time.sleep(0.02)
    return nodes


@cache
def shared_cluster() -> tuple[RedisServer, ...]:
    """The Cluster of all tests that do no harm to it; every use begins with an empty one."""
    nodes = start_cluster()
    for node in nodes:
        atexit.register(node.stop)
    return tuple(nodes)
