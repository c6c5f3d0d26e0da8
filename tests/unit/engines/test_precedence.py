import threading
import time

import pytest

from legato.engines.precedence import Precedence

DEADLINE = 20.0


def test_as_many_compute_at_once_as_there_are_turns() -> None:
    turns = Precedence(2)
    assert turns.try_turn()
    assert turns.try_turn()
    assert not turns.try_turn()
    turns.give_back()
    assert turns.try_turn()


def test_those_that_must_compute_come_in_their_order_before_any_that_need_not() -> None:
    turns = Precedence(1)
    order: list[str] = []
    assert turns.try_turn()
    threads = []
    for number, name in enumerate("abc", start=1):
        thread = threading.Thread(target=compute, args=(turns, name, order))
        thread.start()
        threads.append(thread)
        wait_for(turns, number)
    assert not turns.try_turn()
    turns.give_back()
    for thread in threads:
        thread.join(DEADLINE)
    assert order == ["a", "b", "c"]
    assert turns.try_turn()


def compute(turns: Precedence, name: str, order: list[str]) -> None:
    with turns.turn():
        order.append(name)
        # The next has its turn from this one: nobody takes it in between.
        assert not turns.try_turn()


def wait_for(turns: Precedence, count: int) -> None:
    until = time.monotonic() + DEADLINE
    while turns.waiting < count:
        assert time.monotonic() < until
        time.sleep(0)


def test_a_turn_ends_with_an_error() -> None:
    turns = Precedence(1)
    with pytest.raises(ZeroDivisionError), turns.turn():
        _ = 1 / 0
    assert turns.try_turn()


def test_who_is_due_first_comes_first() -> None:
    turns = Precedence(1)
    order: list[str] = []
    assert turns.try_turn()
    threads = []
    for number, (name, due) in enumerate((("late", 9.0), ("soon", 1.0), ("next", 1.0)), start=1):
        thread = threading.Thread(target=note, args=(turns, due, name, order))
        thread.start()
        threads.append(thread)
        wait_for(turns, number)
    turns.give_back()
    for thread in threads:
        thread.join(DEADLINE)
    assert order == ["soon", "next", "late"]


def note(turns: Precedence, due: float, name: str, order: list[str]) -> None:
    with turns.turn(due):
        order.append(name)
