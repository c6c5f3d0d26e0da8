"""A program of a benchmark in processes of its own: asked a line each, and answering lines."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final, TypeVar

import msgspec

from legato.bench.process import ServerFailed

OPEN_TIMEOUT: Final = 60.0
MAX_LINE_BYTES: Final = 1 << 22
SPARE: Final = 20.0
"""Seconds beyond the length of a run in which its processes must have answered."""

T = TypeVar("T")


@asynccontextmanager
async def crew(module: str, plans: Sequence[msgspec.Struct]) -> AsyncIterator[list[Process]]:
    """Run a process of `module` for each plan, until all say that they have begun.

    Args:
        module: Reads a plan from its standard input, prints a line when it begins and one at its
            end.
        plans: What each is to do.

    Raises:
        ServerFailed: If one of them ends before.
    """
    processes: list[Process] = []
    try:
        command = (sys.executable, "-m", module)
        for _ in plans:
            started = await asyncio.create_subprocess_exec(
                *command, stdin=PIPE, stdout=PIPE, stderr=PIPE, limit=MAX_LINE_BYTES
            )
            processes.append(started)
        for process, plan in zip(processes, plans, strict=True):
            assert process.stdin is not None  # noqa: S101  (pipes were asked for)
            process.stdin.write(msgspec.json.encode(plan) + b"\n")
        async with asyncio.timeout(OPEN_TIMEOUT):
            await asyncio.gather(*map(_line, processes))
        yield processes
    finally:
        for process in processes:
            if process.returncode is None:
                process.kill()
            await process.wait()


async def outcomes(processes: Sequence[Process], kind: type[T], *, within: float) -> list[T]:
    """Wait for what each process has to say at its end.

    Args:
        processes: Of `crew`.
        kind: What they answer with.
        within: Seconds that the run takes.

    Raises:
        ServerFailed: If one ends without a word.
        TimeoutError: If one does not end.
    """
    async with asyncio.timeout(within + SPARE):
        lines = await asyncio.gather(*map(_line, processes))
    return [msgspec.json.decode(line, type=kind) for line in lines]


async def _line(process: Process) -> bytes:
    assert process.stdout is not None  # noqa: S101  (pipes were asked for)
    assert process.stderr is not None  # noqa: S101  (as above)
    line = await process.stdout.readline()
    if not line:
        said = (await process.stderr.read()).decode(errors="replace").strip()
        raise ServerFailed(f"the load ended: {said.splitlines()[-1] if said else 'silence'}")
    return line
