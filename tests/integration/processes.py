"""`legato` as real processes: servers that say when they are ready, commands, and what is left."""

import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Self

START_TIMEOUT = 60.0
STOP_TIMEOUT = 20.0

TONES = {
    "LEGATO_WORKER__ENGINES": json.dumps(
        [
            {"kind": "synthesize", "name": "tone", "slots": 64},
            {"kind": "recognize", "name": "tone", "slots": 64},
        ]
    ),
    "LEGATO_WORKER__SYNTHESIZERS": '["tone"]',
    "LEGATO_WORKER__RECOGNIZERS": '["tone"]',
}
"""Settings of a server that knows no engine but `tone`, and so starts at once."""


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """What a process gets: nothing of the user's settings."""
    mine = {name: value for name, value in os.environ.items() if not name.startswith("LEGATO_")}
    return {**mine, "NO_COLOR": "1", "COLUMNS": "200", **(extra or {})}


def run_legato(
    *args: str,
    cwd: Path,
    stdin: bytes | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = 60.0,
) -> subprocess.CompletedProcess[bytes]:
    """Run one command to its end."""
    return subprocess.run(
        [sys.executable, "-m", "legato", *args],
        cwd=cwd,
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        env=environment(env),
        timeout=timeout,
    )


def processes() -> Iterator[tuple[int, int, int]]:
    """Number, parent and group of each process that lives."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent, group = stat.read_text().rpartition(")")[2].split()[:3]
        except OSError:  # it has just ended
            continue
        if state != "Z":
            yield int(stat.parent.name), int(parent), int(group)


@dataclass
class Process:
    """A `legato` command in a process group of its own, so that nothing of it is missed.

    Args:
        args: Of the command.
        cwd: Where it runs.
        env: Beyond the environment of the tests.
        stdin: A file or PIPE.
        stdout: A file or PIPE.
    """

    args: Sequence[str]
    cwd: Path
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: int | IO[bytes] = subprocess.DEVNULL
    stdout: int | IO[bytes] = subprocess.DEVNULL

    def __enter__(self) -> Self:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "legato", *self.args],
            cwd=self.cwd,
            env=environment(self.env),
            stdin=self.stdin,
            stdout=self.stdout,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._seen: set[int] = set()
        self.said: list[str] = []
        threading.Thread(target=self._listen, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.family()
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(STOP_TIMEOUT)
        finally:
            for pid in self.left():
                os.kill(pid, signal.SIGKILL)
            for pipe in (self.process.stdin, self.process.stdout):
                if pipe is not None:
                    pipe.close()

    @property
    def pid(self) -> int:
        return self.process.pid

    def wait_for(self, words: str, timeout: float = START_TIMEOUT) -> str:
        """The first line on standard error that holds `words`."""
        deadline = time.monotonic() + timeout
        while (left := deadline - time.monotonic()) > 0:
            try:
                line = self._lines.get(timeout=left)
            except queue.Empty:
                break
            if line is None:
                break
            if words in line:
                return line
        raise AssertionError(f"no {words!r} in what it said: {self.said}")

    def interrupt(self, number: signal.Signals = signal.SIGINT) -> int:
        """Signal the whole group, as a terminal does; return the exit code."""
        self.family()
        os.killpg(self.pid, number)
        return self.process.wait(STOP_TIMEOUT)

    def family(self) -> set[int]:
        """All processes that it has started, and they in turn, so far as they were ever seen."""
        parents = {pid: parent for pid, parent, _ in processes()}
        found = {self.pid}
        while more := {pid for pid, parent in parents.items() if parent in found} - found:
            found |= more
        self._seen |= found - {self.pid}
        return self._seen

    def left(self) -> list[int]:
        """Processes of its family or its group that live."""
        return [
            pid
            for pid, _, group in processes()
            if pid != self.pid and (pid in self._seen or group == self.pid)
        ]

    def _listen(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as pipe:
            for line in pipe:
                text = line.decode(errors="replace").rstrip()
                self.said.append(text)
                self._lines.put(text)
        self._lines.put(None)


@dataclass(frozen=True)
class Server:
    """A server that is ready.

    Args:
        process: It.
        url: Where clients connect to.
    """

    process: Process
    url: str


@contextmanager
def running_server(
    *flags: str, cwd: Path, env: Mapping[str, str] | None = None
) -> Iterator[Server]:
    """Run `legato serve` on a free port for the length of the block, engines warm."""
    args = ("serve", "--port", "0", "--log-level", "warning", *flags)
    with Process(args, cwd=cwd, env=env or {}) as process:
        listening = re.search(r"wss?://[^\s,]+", process.wait_for("listening on"))
        assert listening is not None
        process.wait_for("ready after")
        yield Server(process, listening[0])
