"""The worker's side of a template process: engine processes that share one copy of the weights."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import sys
from typing import Final, Protocol

from legato.telemetry.logs import logger
from legato.worker.config import EngineSpec, WorkerConfig
from legato.worker.loading import load_of
from legato.worker.template_host import (
    MESSAGE_BYTES,
    Born,
    Ended,
    Fork,
    Kill,
    Order,
    Sharing,
    Unshared,
    Word,
    decode_word,
    encode,
)

FORK_TIMEOUT: Final = 5.0
"""Seconds for a fork, which takes some 8 ms, before the template is taken to hang."""

LOST: Final = -9
"""What is told of children whose template died: they are killed with it."""

log = logger("legato.worker.template")


class Child(Protocol):
    """A process as its user sees it; `asyncio.subprocess.Process` is one."""

    @property
    def pid(self) -> int:
        """Its id."""

    @property
    def returncode(self) -> int | None:
        """What it ended with; negative for a signal; None while it runs."""

    def kill(self) -> None:
        """End it by force."""

    async def wait(self) -> int:
        """Wait until it is gone."""


class Forked:
    """A child of the template.

    Attributes:
        pid: Its id.
    """

    def __init__(self, template: Template, number: int) -> None:
        self.pid = 0
        self._template = template
        self._number = number
        self._born: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    @property
    def returncode(self) -> int | None:
        """What it ended with; negative for a signal; None while it runs."""
        return self._ended.result() if self._ended.done() else None

    def kill(self) -> None:
        """End it by force."""
        if self.returncode is None:
            self._template.send(Kill(self._number))

    async def wait(self) -> int:
        """Wait until it is gone."""
        return await asyncio.shield(self._ended)

    async def born(self) -> None:
        """Wait until it runs.

        Raises:
            OSError: If it could not be made.
        """
        await self._born

    def receive(self, word: Born | Ended) -> None:
        """Take word of it."""
        if isinstance(word, Born):
            self.pid = word.pid
            if not self._born.done():
                self._born.set_result(None)
            return
        if not self._born.done():
            self._born.set_exception(OSError(-word.code, "no process could be forked"))
        if not self._ended.done():
            self._ended.set_result(word.code)


class Template:
    """One template process, started when the first child is wanted, and again after it died.

    Args:
        spec: Which engine.
        config: For the time to load.
    """

    def __init__(self, spec: EngineSpec, config: WorkerConfig) -> None:
        self._spec = spec
        self._config = config
        self._starting = asyncio.Lock()
        self._process: asyncio.subprocess.Process | None = None
        self._control: socket.socket | None = None
        self._answer: asyncio.Future[Sharing | Unshared | None] | None = None
        self._refused = False
        self._children: dict[int, Forked] = {}
        self._last = 0

    @property
    def pid(self) -> int | None:
        """Process id, while it runs."""
        return None if self._control is None or self._process is None else self._process.pid

    async def fork(self, fds: tuple[int, int, int], slots: int) -> Forked | None:
        """Make an engine process, or tell by None that this engine's must be started afresh.

        Args:
            fds: Descriptors of its socket, board and report, which it gets copies of.
            slots: Of the board.

        Raises:
            OSError: If no process can be made; the template is ended if that is as it hangs.
            TimeoutError: If the engine was not loaded in time.
        """
        async with self._starting:
            if self._control is None and not self._refused:
                await self._start()
        if self._control is None:
            return None
        self._last += 1
        child = Forked(self, self._last)
        socket.send_fds(self._control, [encode(Fork(self._last, slots))], fds)
        self._children[self._last] = child
        try:
            async with asyncio.timeout(FORK_TIMEOUT):
                await child.born()
        except TimeoutError:
            await self.stop()
            raise OSError(errno.ETIMEDOUT, "the template process hangs") from None
        except asyncio.CancelledError:  # nobody else knows of it
            child.kill()
            raise
        return child

    def send(self, order: Order) -> None:
        """Send, or drop what a dead template cannot read; its children die with it."""
        if self._control is not None:
            try:
                self._control.send(encode(order))
            except OSError:
                self._gone()

    async def stop(self) -> None:
        """End the process, whose children have ended before."""
        self._gone()
        if self._process is not None:
            if self._process.returncode is None:
                self._process.kill()
            await self._process.wait()

    async def _start(self) -> None:
        loop = asyncio.get_running_loop()
        await self.stop()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        self._control = ours
        self._answer = loop.create_future()
        try:
            with theirs:
                self._process = await asyncio.create_subprocess_exec(
                    sys.executable,
                    "-P",
                    "-m",
                    "legato.worker.template_host",
                    *(str(os.getpid()), str(theirs.fileno())),
                    pass_fds=(theirs.fileno(),),
                    stdin=asyncio.subprocess.DEVNULL,
                    start_new_session=True,
                )
            self.send(load_of(self._spec))
            loop.add_reader(ours.fileno(), self._read)
            async with asyncio.timeout(self._config.load_timeout):
                answer = await self._answer
        except BaseException:
            await self.stop()
            raise
        if not isinstance(answer, Sharing):
            self._take_refusal(answer)
            await self.stop()

    def _take_refusal(self, answer: Unshared | None) -> None:
        self._refused = True
        if answer is None or not answer.expected:
            why = "its template process died" if answer is None else answer.why
            log.warning("engine processes share no weights", engine=self._spec.name, why=why)

    def _read(self) -> None:
        if self._control is None:
            return
        try:
            data = self._control.recv(MESSAGE_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self._receive(decode_word(data))
        else:
            self._gone()

    def _receive(self, word: Word) -> None:
        if isinstance(word, Sharing | Unshared):
            if self._answer is not None and not self._answer.done():
                self._answer.set_result(word)
            return
        child = self._children.get(word.number)
        if child is not None:
            child.receive(word)
        if isinstance(word, Ended):
            self._children.pop(word.number, None)

    def _gone(self) -> None:
        if self._control is None:
            return
        control, self._control = self._control, None
        asyncio.get_running_loop().remove_reader(control.fileno())
        control.close()
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(None)
        for number, child in self._children.items():
            child.receive(Ended(number, LOST))
        self._children.clear()


def template_for(spec: EngineSpec, config: WorkerConfig) -> Template | None:
    """Return a template if several processes of an engine may share one, on Linux.

    Elsewhere a process cannot be told to die with its parent, and Apple's libraries do not
    survive a fork.
    """
    if spec.processes < 2 or sys.platform != "linux":
        return None
    return Template(spec, config)
