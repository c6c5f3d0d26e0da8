import errno
import os
import tempfile
import threading
from pathlib import Path

import pytest

from legato.worker.board import REPORT_BYTES, Board, NoBoard, SlotState


@pytest.fixture
def board() -> Board:
    return Board.create(4)


def test_slots_are_free_at_first(board: Board) -> None:
    assert [board.state(slot) for slot in range(4)] == [SlotState.FREE] * 4


def test_what_one_end_puts_the_other_sees(board: Board) -> None:
    other = Board(os.dup(board.board_fd), os.dup(board.report_fd), 4)
    other.put(2, SlotState.INSIDE)
    assert board.state(2) is SlotState.INSIDE
    assert board.state(1) is SlotState.FREE
    other.close()


def test_without_a_report_there_is_no_telling_who_crashed(board: Board) -> None:
    board.put(0, SlotState.INSIDE)
    assert board.crashed(0) is None
    assert board.report == ""


def test_the_report_names_the_thread_that_crashed(board: Board) -> None:
    board.put(0, SlotState.INSIDE)
    thread = threading.Thread(target=board.put, args=(1, SlotState.INSIDE))
    thread.start()
    thread.join()
    report = f"Fatal Python error: Aborted\n\nCurrent thread 0x{threading.get_ident():016x} (m"
    os.pwrite(board.report_fd, report.encode(), 0)
    assert board.crashed(0) is True
    assert board.crashed(2) is False
    assert board.report == report


def test_a_slot_counts_the_commands_its_call_has_taken(board: Board) -> None:
    for either in (board, NoBoard(4)):
        either.put(1, SlotState.WAITING, 7)
        assert (either.taken(0), either.taken(1)) == (0, 7)


def test_a_board_needs_no_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    Board.create(4).close()


def test_the_memory_of_a_board_is_allocated_when_it_is_made(board: Board) -> None:
    assert os.fstat(board.report_fd).st_blocks * 512 >= REPORT_BYTES


def test_where_there_are_no_files_in_memory_a_board_lies_on_the_disk(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delattr(os, "memfd_create", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    board = Board.create(4)
    os.write(board.report_fd, b"Aborted")
    assert (board.state(3), board.report) == (SlotState.FREE, "Aborted")
    board.close()
    assert not list(tmp_path.iterdir())


def test_a_board_that_cannot_be_made_whole_leaves_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[int] = []
    allocate = os.posix_fallocate

    def full(fd: int, offset: int, size_bytes: int) -> None:
        opened.append(fd)
        if size_bytes == REPORT_BYTES:
            raise OSError(errno.ENOSPC, "No space left on device")
        allocate(fd, offset, size_bytes)

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match="No space"):
        Board.create(4)
    assert len(opened) == 2
    for fd in opened:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(fd)


def test_a_closed_board_gives_its_files_back(board: Board) -> None:
    board.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(board.board_fd)


def test_a_board_within_one_process_keeps_states_alike() -> None:
    board = NoBoard(2)
    board.put(1, SlotState.WAITING)
    assert [board.state(slot) for slot in range(2)] == [SlotState.FREE, SlotState.WAITING]
