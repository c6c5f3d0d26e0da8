"""An engine process: loads one engine and serves calls; `python -m legato.worker.host`.

The main thread reads commands; each call has a thread of its own. When the worker goes away, by
whatever death, the process ends with it.
"""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from typing import Final

from legato.engines.base import Cloning, EngineInfo
from legato.engines.onnx import without_telemetry
from legato.errors import LegatoError
from legato.telemetry.logs import configure, logger, trace_of
from legato.worker.board import Board
from legato.worker.frames import (
    Command,
    Failed,
    Finished,
    Forget,
    Listen,
    Load,
    Ready,
    Reply,
    Shutdown,
    Speak,
    Splitter,
    Teach,
    Unavailable,
    decode_command,
    encode,
)
from legato.worker.loading import make_engine
from legato.worker.service import Engine, Service, service_for
from legato.worker.teaching import Pupil

log = logger("legato.worker.host")

RECEIVE_BYTES: Final = 65_536
PR_SET_PDEATHSIG: Final = 1
"""Of Linux's prctl(2): the signal to get when the parent dies."""


class EngineHost:
    """Serves the calls of one worker.

    Args:
        link: The socket to the worker.
        board: Shared with it.
        loaded: The engine, if it is loaded already.
    """

    def __init__(self, link: socket.socket, board: Board, *, loaded: Engine | None = None) -> None:
        self._link = link
        self._loaded = loaded
        self._board = board
        self._lock = threading.Lock()
        self._services: dict[int, Service] = {}
        self._pupil = Pupil()

    def serve(self) -> bool:
        """Serve until the worker says so or goes away; tell whether all is at rest."""
        commands = self._commands()
        load = next(commands, None)
        if not isinstance(load, Load):
            return True
        log_as(load)
        engine = self._loaded or self._load(load)
        if engine is None:
            return True
        self._send(Ready(engine.info))
        for command in commands:
            if isinstance(command, Shutdown):
                engine.close()
                break
            self._obey(command, engine)
        return not self._services

    def _obey(self, command: Command, engine: Engine) -> None:
        if isinstance(command, Speak):
            command = self._pupil.whole(command)
        if isinstance(command, Teach):
            self._pupil.learn(command)
        elif isinstance(command, Forget):
            self._forget(command.digest, engine)
        elif isinstance(command, Speak | Listen):
            service = service_for(command, engine, board=self._board, send=self._send)
            self._services[command.call] = service
            service.start()
        elif not isinstance(command, Load | Shutdown):
            # A call may end while word to it is under way.
            service_of_call = self._services.get(command.call)
            if service_of_call is not None:
                service_of_call.deliver(command)

    def _forget(self, digest: str, engine: Engine) -> None:
        self._pupil.forget(digest)
        if not isinstance(engine, Cloning):
            return
        try:
            engine.forget(digest)
        except Exception as error:  # noqa: BLE001  engines raise anything; calls go on
            log.warning("engine does not forget a voice", trace=trace_of(error))

    def _load(self, load: Load) -> Engine | None:
        sys.path[:] = load.path
        info: EngineInfo | None = None
        try:
            engine = make_engine(load.kind, load.name, load.target, load.options)
            info = engine.info
            engine.load()
        except LegatoError as error:
            self._send(Unavailable(error.message, info))
            return None
        except Exception as error:  # noqa: BLE001  whatever an engine's start may raise
            message = f"{load.name} cannot be loaded: it raised {type(error).__name__}"
            self._send(Unavailable(message, info, trace_of(error)))
            return None
        give_back()
        return engine

    def _commands(self) -> Iterator[Command]:
        splitter = Splitter()
        while data := self._link.recv(RECEIVE_BYTES):
            for body in splitter.feed(data):
                yield decode_command(body)

    def _send(self, reply: Reply) -> None:
        if isinstance(reply, Finished | Failed):
            self._services.pop(reply.call, None)
        frame = encode(reply)
        try:
            with self._lock:
                self._link.sendall(frame)
        except OSError:  # the worker is gone
            os._exit(1)


def log_as(load: Load) -> None:
    """Log in the worker's format and from its level on, what libraries warn of too."""
    if load.log is not None:
        configure(*load.log)
        logging.captureWarnings(True)


def give_back() -> None:
    """Give memory back that loading an engine took in passing: 32 MB with hibari."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # of glibc alone
    if trim is not None:
        trim(0)


def die_with(parent: int) -> None:
    """Have this process end when process `parent`, its parent, dies.

    The closed socket tells it too, but not while an engine holds the interpreter's lock.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def main(arguments: list[str]) -> None:
    """Serve on inherited file descriptors.

    Args:
        arguments: Parent's process id; descriptors of socket, board and report; slots.
    """
    parent, link_fd, board_fd, report_fd, slots = map(int, arguments)
    die_with(parent)
    without_telemetry()
    # Ctrl-C goes to the whole process group; the worker decides when its engines end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Standard output belongs to the command that started the worker.
    os.dup2(2, 1)
    for fd in (link_fd, board_fd, report_fd):
        os.set_inheritable(fd, False)
    faulthandler.enable(report_fd, all_threads=True)
    link = socket.socket(fileno=link_fd)
    at_rest = EngineHost(link, Board(board_fd, report_fd, slots)).serve()
    if not at_rest:
        # Threads are inside native code, which the interpreter's own end may crash.
        os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
