"""One `legato` process of a system: started, stopped, killed and frozen by its id."""

from __future__ import annotations

import asyncio
import atexit
import os
import re
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from tests.integration.processes import environment, processes

START_TIMEOUT = 30.0
STOP_TIMEOUT = 20.0
ROOT = Path(__file__).parents[2]

_ours: set[int] = set()
"""Process groups that this test run has started and not seen end."""


def unmeasured(env: Mapping[str, str]) -> dict[str, str]:
    """Without coverage, which would slow down what has deadlines here; what is killed has none."""
    return {name: value for name, value in env.items() if not name.startswith("COVERAGE_")}


def code_path(first: Path | None) -> dict[str, str]:
    """What makes Python look in `first`, and then in this checkout."""
    paths = [*([first] if first else []), ROOT, ROOT / "src"]
    return {"PYTHONPATH": os.pathsep.join(map(str, paths))}


def _end_all() -> None:
    for pid in _ours:
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)


atexit.register(_end_all)


class Node:
    """A gateway, a worker, or both in one.

    Args:
        name: In histories and of its log.
        args: Of the command.
        place: Directory of its log, and where it runs.
        env: Beyond the environment of the tests.
        python_path: Where Python looks first, or None.

    Attributes:
        python_path: As given; what is set later holds from the next start on.
        port: Where it listens, once it said so; it keeps it over restarts.
        exit_code: Of its last end.
        deaths: How often a signal that it does not handle ended it.
    """

    def __init__(
        self,
        name: str,
        args: Sequence[str],
        place: Path,
        env: Mapping[str, str],
        *,
        python_path: Path | None = None,
    ) -> None:
        self.name = name
        self.log = place / f"{name}.log"
        self.port = 0
        self.exit_code: int | None = None
        self.deaths = 0
        self.python_path = python_path
        self._args = args
        self._place = place
        self._env = env
        self._process: asyncio.subprocess.Process | None = None
        self._ended: asyncio.Task[int] | None = None
        self._frozen = False

    @property
    def pid(self) -> int:
        """Of the process that runs."""
        assert self._process is not None
        return self._process.pid

    @property
    def runs(self) -> bool:
        """Whether it lives."""
        return self._process is not None and self._process.returncode is None

    @property
    def serves(self) -> bool:
        """Whether clients can be led to it."""
        return self.runs and self.port > 0

    async def start(self) -> None:
        """Start, and wait until it says that it is ready.

        Raises:
            RuntimeError: If it ends instead.
        """
        began = self.log.stat().st_size if self.log.exists() else 0
        await self.launch()
        said = await self._says("ready after", began)
        listening = re.search(r"listening on wss?://[^\s,:]+:(\d+)", said)
        if listening is not None:
            self.port = int(listening[1])

    async def launch(self) -> None:
        """Start, whatever becomes of it."""
        args = [*self._args, *(("--port", str(self.port)) if self._args[0] != "worker" else ())]
        with self.log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "legato",
                *args,
                cwd=self._place,
                env=unmeasured(environment({**code_path(self.python_path), **self._env})),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        _ours.add(self.pid)
        self._ended = asyncio.create_task(self._wait(self._process))

    async def kill(self) -> None:
        """SIGKILL it, with all that it has started."""
        self._signal_group(signal.SIGKILL)
        await self.ended()

    async def terminate(self) -> int:
        """SIGTERM it, wait for its end, return its exit code."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        return await self.ended()

    async def stop(self) -> None:
        """End it however it is; nothing is left of it."""
        if not self.runs:
            return
        if self._frozen:
            self.thaw()
        try:
            await self.terminate()
        except TimeoutError:
            await self.kill()

    async def ended(self) -> int:
        """Wait for its end; its exit code."""
        assert self._ended is not None
        async with asyncio.timeout(STOP_TIMEOUT):
            self.exit_code = await asyncio.shield(self._ended)
        return self.exit_code

    def freeze(self) -> None:
        """SIGSTOP it: connections stay and nothing moves."""
        self._frozen = True
        self._signal_group(signal.SIGSTOP)

    def thaw(self) -> None:
        """SIGCONT it."""
        self._frozen = False
        self._signal_group(signal.SIGCONT)

    def engine_processes(self) -> list[int]:
        """Ids of the engine processes that it has started."""
        found = []
        for pid, parent, _ in processes():
            if parent == self.pid:
                with suppress(OSError):
                    command = Path(f"/proc/{pid}/cmdline").read_bytes()
                    if b"legato.worker.host" in command:
                        found.append(pid)
        return sorted(found)

    def usage(self) -> dict[str, int]:
        """Its resident memory in bytes and its open descriptors."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        fds = len(list(Path(f"/proc/{self.pid}/fd").iterdir()))
        return {"rss": pages * os.sysconf("SC_PAGE_SIZE"), "fds": fds}

    def clock_skew(self) -> int:
        """Seconds that its wall clock is off, by what it wrote at its start."""
        path = self._place / f"{self.pid}.skew"
        return int(path.read_text()) if path.exists() else 0

    def tail(self, lines: int = 30) -> str:
        """The end of its log."""
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        return "\n".join(text.splitlines()[-lines:])

    def _signal_group(self, number: signal.Signals) -> None:
        for pid in (self.pid, *self.engine_processes()):  # each has a group of its own
            with suppress(ProcessLookupError):
                os.killpg(pid, number)

    async def _wait(self, process: asyncio.subprocess.Process) -> int:
        code = await process.wait()
        _ours.discard(process.pid)
        self.deaths += code < 0
        return code

    async def _says(self, words: str, began: int) -> str:
        """What it wrote until `words`; a log file cannot be awaited, so it is looked at."""
        assert self._ended is not None
        async with asyncio.timeout(START_TIMEOUT):
            while True:
                with self.log.open("rb") as log:
                    log.seek(began)
                    said = log.read().decode(errors="replace")
                if words in said:
                    return said
                await asyncio.wait((self._ended,), timeout=0.02)
                if self._ended.done():
                    raise RuntimeError(f"{self.name} does not start:\n{self.tail()}")
