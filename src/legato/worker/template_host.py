"""A template process: loads one engine, serves nothing, and forks engine processes on demand.

Its children share all pages that neither side writes: weights, prepared kernels, lexicons, the
interpreter. An engine says that it may be forked (`EngineInfo.forkable`); whether it really left no
thread behind, which would be missing in a child, is checked.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import selectors
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from legato.engines.onnx import without_telemetry
from legato.worker.board import Board
from legato.worker.frames import Load
from legato.worker.host import EngineHost, die_with, give_back, log_as
from legato.worker.loading import make_engine
from legato.worker.service import Engine

MESSAGE_BYTES: Final = 65_536
FDS: Final = 3
"""What a child inherits: its socket, its board and its report."""


class Fork(msgspec.Struct, tag="fork"):
    """Make a child; its descriptors come with the message.

    Attributes:
        number: By which the worker knows it.
        slots: Of its board.
    """

    number: int
    slots: int


class Kill(msgspec.Struct, tag="kill"):
    """End a child by force."""

    number: int


class Sharing(msgspec.Struct, tag="sharing"):
    """The engine is loaded; children can be had."""


class Unshared(msgspec.Struct, tag="unshared"):
    """No children can be had of this engine; the template exits.

    Attributes:
        why: For the log.
        expected: Whether the engine says so itself.
    """

    why: str
    expected: bool = False


class Born(msgspec.Struct, tag="born"):
    """A child runs."""

    number: int
    pid: int


class Ended(msgspec.Struct, tag="ended"):
    """A child is gone and reaped; a negative `code` is the signal that it died of."""

    number: int
    code: int


Order = Load | Fork | Kill
"""From worker to template."""

Word = Sharing | Unshared | Born | Ended
"""From template to worker."""

encode: Final = msgspec.msgpack.Encoder().encode
decode_order: Final = msgspec.msgpack.Decoder(Order).decode
decode_word: Final = msgspec.msgpack.Decoder(Word).decode


class TemplateHost:
    """The main thread of a template process, its only one.

    Args:
        control: The socket to the worker; keeps messages apart (SOCK_SEQPACKET).
    """

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._children: dict[int, tuple[int, int]] = {}
        self._selector = selectors.DefaultSelector()

    def serve(self) -> None:
        """Load the engine, then make children until the worker goes away."""
        order = decode_order(self._control.recv(MESSAGE_BYTES))
        if not isinstance(order, Load):
            return
        log_as(order)
        engine = self._load(order)
        if engine is None:
            return
        self._send(Sharing())
        self._selector.register(self._control, selectors.EVENT_READ)
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is not self._control:
                    self._reap(key.data)
                elif not self._obey(engine):
                    return

    def _load(self, load: Load) -> Engine | None:
        sys.path[:] = load.path
        try:
            engine = make_engine(load.kind, load.name, load.target, load.options)
            if not engine.info.forkable:
                self._send(Unshared("the engine cannot be forked", expected=True))
                return None
            engine.load()
        except Exception as error:  # noqa: BLE001  whatever an engine's start may raise
            # A process that loads for itself runs into the same, and tells it in full.
            self._send(Unshared(f"loading raised {type(error).__name__}"))
            return None
        settle()
        threads = len(list(Path("/proc/self/task").iterdir()))
        if threads > 1:
            self._send(Unshared(f"the engine keeps {threads - 1} threads of its own"))
            return None
        return engine

    def _obey(self, engine: Engine) -> bool:
        data, fds, _, _ = socket.recv_fds(self._control, MESSAGE_BYTES, FDS)
        if not data:
            return False
        match decode_order(data):
            case Fork(number=number, slots=slots):
                self._fork(number, lambda: self._child(engine, fds, slots))
                for fd in fds:
                    os.close(fd)
            case Kill(number=number) if number in self._children:
                os.kill(self._children[number][0], signal.SIGKILL)  # not reaped, so it is still its
            case _:
                pass
        return True

    def _fork(self, number: int, become: Callable[[], None]) -> None:
        template = os.getpid()
        try:
            pid = os.fork()
        except OSError as error:
            self._send(Ended(number, -error.errno if error.errno else -1))
            return
        if pid == 0:
            code = 1
            try:
                die_with(template)
                os.setsid()
                become()
                code = 0
            except BaseException:  # noqa: BLE001  nothing may get back into the template's loop
                traceback.print_exc()
            finally:
                os._exit(code)
        pidfd = os.pidfd_open(pid)
        self._children[number] = (pid, pidfd)
        self._selector.register(pidfd, selectors.EVENT_READ, number)
        self._send(Born(number, pid))

    def _child(self, engine: Engine, fds: list[int], slots: int) -> None:
        self._selector.close()
        self._control.close()
        for _, pidfd in self._children.values():
            os.close(pidfd)
        link_fd, board_fd, report_fd = fds
        faulthandler.enable(report_fd, all_threads=True)
        board = Board(board_fd, report_fd, slots)
        EngineHost(socket.socket(fileno=link_fd), board, loaded=engine).serve()

    def _reap(self, number: int) -> None:
        pid, pidfd = self._children.pop(number)
        self._selector.unregister(pidfd)
        os.close(pidfd)
        _, status = os.waitpid(pid, 0)
        self._send(Ended(number, os.waitstatus_to_exitcode(status)))

    def _send(self, word: Word) -> None:
        try:
            self._control.send(encode(word))
        except OSError:  # the worker is gone
            os._exit(1)


def settle() -> None:
    """Bring memory into a state that children can share for long.

    Collected objects are left alone by the collector from here on, freed memory goes back, and
    libraries that stop their threads before a fork, as OpenBLAS does, have stopped them.
    """
    give_back()
    gc.freeze()
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def main(arguments: list[str]) -> None:
    """Serve on an inherited socket.

    Args:
        arguments: Parent's process id; descriptor of the socket.
    """
    parent, control_fd = map(int, arguments)
    die_with(parent)
    without_telemetry()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.dup2(2, 1)
    os.set_inheritable(control_fd, False)
    TemplateHost(socket.socket(fileno=control_fd)).serve()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
