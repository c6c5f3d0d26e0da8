import os
import threading

import pytest

from legato.worker.board import Board, NoBoard, SlotState


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


def test_a_closed_board_gives_its_files_back(board: Board) -> None:
    board.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(board.board_fd)


def test_a_board_within_one_process_keeps_states_alike() -> None:
    board = NoBoard(2)
    board.put(1, SlotState.WAITING)
    assert [board.state(slot) for slot in range(2)] == [SlotState.FREE, SlotState.WAITING]
