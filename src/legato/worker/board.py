"""Shared memory in which an engine process leaves word of what each call is doing.

It can be read at any time without the process's help: while a call holds the interpreter's lock,
and after the process has died. It needs no directory, and its pages are allocated when it is made:
one that cannot be had is an `OSError` then, and no SIGBUS later.
"""

from __future__ import annotations

import mmap
import os
import re
import struct
import tempfile
import threading
from contextlib import ExitStack
from enum import IntEnum
from typing import Final

_SLOT: Final = struct.Struct("=QQQ")
"""State, thread identifier and commands taken."""

REPORT_BYTES: Final = 65_536
_CRASHED: Final = re.compile(rb"Current thread 0x([0-9a-f]+)")


class SlotState(IntEnum):
    """Where a call is."""

    FREE = 0
    """Not begun, or over."""
    WAITING = 1
    """In our code, until input comes or output is taken."""
    INSIDE = 2
    """In the engine's code."""


class Board:
    """The slots of one engine process, and its crash report.

    Args:
        board_fd: File of the slots.
        report_fd: File that `faulthandler` writes to when the process crashes.
        slots: How many.
    """

    def __init__(self, board_fd: int, report_fd: int, slots: int) -> None:
        self.board_fd = board_fd
        self.report_fd = report_fd
        self._slots = mmap.mmap(board_fd, slots * _SLOT.size)
        self._report = mmap.mmap(report_fd, REPORT_BYTES)

    @classmethod
    def create(cls, slots: int) -> Board:
        """Make the files; blocks for a moment.

        Raises:
            OSError: If there is no memory or no descriptor left for them.
        """
        with ExitStack() as opened:
            board_fd = _unnamed_file(slots * _SLOT.size)
            opened.callback(os.close, board_fd)
            report_fd = _unnamed_file(REPORT_BYTES)
            opened.callback(os.close, report_fd)
            board = cls(board_fd, report_fd, slots)
            opened.pop_all()
        return board

    def put(self, slot: int, state: SlotState, taken: int = 0) -> None:
        """Tell where the call in `slot` is, from the thread that runs it.

        Args:
            slot: Of the call.
            state: Where it is.
            taken: Commands that it has taken since it began.
        """
        _SLOT.pack_into(self._slots, slot * _SLOT.size, state, threading.get_ident(), taken)

    def state(self, slot: int) -> SlotState:
        """Return where the call in `slot` is, or was when the process died."""
        return SlotState(self._read(slot)[0])

    def taken(self, slot: int) -> int:
        """Return how many commands the call in `slot` has taken since it began."""
        return self._read(slot)[2]

    def crashed(self, slot: int) -> bool | None:
        """Tell whether the call in `slot` crashed the process, None if there is no telling."""
        match = _CRASHED.search(self._report[:REPORT_BYTES])
        return None if match is None else int(match[1], 16) == self._read(slot)[1]

    @property
    def report(self) -> str:
        """What `faulthandler` wrote when the process crashed, or ""."""
        return self._report[:REPORT_BYTES].rstrip(b"\0").decode(errors="replace")

    def close(self) -> None:
        """Give the memory back."""
        self._slots.close()
        self._report.close()
        os.close(self.board_fd)
        os.close(self.report_fd)

    def _read(self, slot: int) -> tuple[int, int, int]:
        state, thread, taken = _SLOT.unpack_from(self._slots, slot * _SLOT.size)
        return state, thread, taken


class NoBoard:
    """Takes the place of a board for calls in the worker's own process."""

    def __init__(self, slots: int) -> None:
        self._slots = [(SlotState.FREE, 0)] * slots

    def put(self, slot: int, state: SlotState, taken: int = 0) -> None:
        """Tell where the call in `slot` is, and how many commands it has taken."""
        self._slots[slot] = (state, taken)

    def state(self, slot: int) -> SlotState:
        """Return where the call in `slot` is."""
        return self._slots[slot][0]

    def taken(self, slot: int) -> int:
        """Return how many commands the call in `slot` has taken since it began."""
        return self._slots[slot][1]


def _unnamed_file(size_bytes: int) -> int:
    """Return a file in memory, or where the system has none, one on the disk without a name."""
    # Allocated, not only made long: a page that is not there yet may be refused when it is used.
    if not hasattr(os, "memfd_create"):
        with tempfile.TemporaryFile() as file:
            file.write(bytes(size_bytes))
            file.seek(0)
            return os.dup(file.fileno())
    fd = os.memfd_create("legato-board")
    try:
        os.posix_fallocate(fd, 0, size_bytes)
    except BaseException:
        os.close(fd)
        raise
    return fd
