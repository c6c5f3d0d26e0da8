"""Shared memory in which an engine process leaves word of what each call is doing.

It can be read at any time without the process's help: while a call holds the interpreter's lock,
and after the process has died.
"""

from __future__ import annotations

import mmap
import os
import re
import struct
import tempfile
import threading
from enum import IntEnum
from typing import Final

_SLOT: Final = struct.Struct("=QQ")
"""State and thread identifier."""

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
        """Make the files; blocks for a moment."""
        board_fd, report_fd = map(_unnamed_file, (slots * _SLOT.size, REPORT_BYTES))
        return cls(board_fd, report_fd, slots)

    def put(self, slot: int, state: SlotState) -> None:
        """Tell where the call in `slot` is, from the thread that runs it."""
        _SLOT.pack_into(self._slots, slot * _SLOT.size, state, threading.get_ident())

    def state(self, slot: int) -> SlotState:
        """Return where the call in `slot` is, or was when the process died."""
        return SlotState(self._read(slot)[0])

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

    def _read(self, slot: int) -> tuple[int, int]:
        state, thread = _SLOT.unpack_from(self._slots, slot * _SLOT.size)
        return state, thread


class NoBoard:
    """Takes the place of a board for calls in the worker's own process."""

    def __init__(self, slots: int) -> None:
        self._states = [SlotState.FREE] * slots

    def put(self, slot: int, state: SlotState) -> None:
        """Tell where the call in `slot` is."""
        self._states[slot] = state

    def state(self, slot: int) -> SlotState:
        """Return where the call in `slot` is."""
        return self._states[slot]


def _unnamed_file(size_bytes: int) -> int:
    with tempfile.TemporaryFile() as file:
        fd = os.dup(file.fileno())
    os.ftruncate(fd, size_bytes)
    return fd
