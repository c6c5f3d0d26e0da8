import pytest

from legato.errors import UnexpectedMessage
from legato.protocol.media import AudioFrame
from legato.protocol.messages import Cancel, StreamEnd
from legato.session.inbound import Inbound, Verdict
from legato.session.lane import Item


def frame(seq: int) -> AudioFrame:
    return AudioFrame(b"ab", seq)


def seqs(items: list[Item]) -> list[int | None]:
    return [item.seq for item in items]


def test_entries_in_order_are_delivered() -> None:
    inbound = Inbound()
    assert [inbound.accept(seq, frame(seq)) for seq in (0, 1)] == [Verdict.DELIVERED] * 2
    assert seqs(inbound.ready) == [0, 1]
    assert inbound.expected == 2


def test_an_entry_that_came_before_is_a_duplicate() -> None:
    inbound = Inbound()
    inbound.accept(0, frame(0))
    assert inbound.accept(0, frame(0)) is Verdict.DUPLICATE
    assert seqs(inbound.ready) == [0]


def test_an_entry_above_the_expected_one_is_told_once() -> None:
    inbound = Inbound()
    assert inbound.accept(2, frame(2)) is Verdict.GAP
    assert inbound.accept(3, frame(3)) is Verdict.DROPPED


def test_after_a_delivery_the_next_gap_is_told() -> None:
    inbound = Inbound()
    inbound.accept(2, frame(2))
    inbound.accept(0, frame(0))
    assert inbound.accept(2, frame(2)) is Verdict.GAP


def test_after_a_request_to_rewind_the_next_gap_is_told() -> None:
    inbound = Inbound()
    inbound.accept(2, frame(2))
    inbound.forget_gap()
    assert inbound.accept(2, frame(2)) is Verdict.GAP


def test_entries_are_held_for_a_missing_one() -> None:
    inbound = Inbound(reorder=2)
    assert inbound.accept(2, frame(2)) is Verdict.HELD
    assert inbound.accept(1, frame(1)) is Verdict.HELD
    assert inbound.accept(1, frame(1)) is Verdict.DUPLICATE
    assert inbound.accept(3, frame(3)) is Verdict.GAP
    assert inbound.waiting
    assert inbound.accept(0, frame(0)) is Verdict.DELIVERED
    assert seqs(inbound.ready) == [0, 1, 2]
    assert not inbound.waiting


def test_what_is_held_is_given_up_with_a_gap() -> None:
    inbound = Inbound(reorder=2)
    inbound.accept(1, frame(1))
    assert inbound.give_up() is Verdict.GAP
    assert not inbound.waiting
    assert inbound.give_up() is Verdict.DROPPED


def test_a_hole_is_no_loss() -> None:
    inbound = Inbound()
    inbound.accept(0, frame(0))
    inbound.skip(1, 5)
    assert inbound.accept(5, frame(5)) is Verdict.DELIVERED


def test_a_hole_never_leads_back() -> None:
    inbound = Inbound()
    inbound.accept(0, frame(0))
    inbound.skip(1, 0)
    assert inbound.expected == 1


def test_a_hole_that_was_passed_is_ignored() -> None:
    inbound = Inbound(reorder=2)
    inbound.accept(0, frame(0))
    inbound.skip(0, 9)
    assert inbound.expected == 1


def test_a_hole_that_is_not_reached_yet_is_remembered_where_order_is_not_kept() -> None:
    inbound = Inbound(reorder=4)
    inbound.skip(2, 5)
    inbound.accept(5, frame(5))
    inbound.accept(1, frame(1))
    assert inbound.accept(0, frame(0)) is Verdict.DELIVERED
    assert seqs(inbound.ready) == [0, 1, 5]


def test_only_so_many_holes_are_remembered() -> None:
    inbound = Inbound(reorder=1)
    inbound.skip(1, 3)
    inbound.skip(4, 6)
    for seq in (0, 3):
        inbound.accept(seq, frame(seq))
    assert inbound.expected == 4


def test_where_order_is_kept_a_hole_ahead_is_not_remembered() -> None:
    inbound = Inbound()
    inbound.skip(2, 5)
    inbound.accept(0, frame(0))
    inbound.accept(1, frame(1))
    assert inbound.accept(5, frame(5)) is Verdict.GAP


def test_after_the_end_of_input_only_cancel_may_come() -> None:
    inbound = Inbound()
    inbound.accept(0, StreamEnd(seq=0))
    assert inbound.ended
    assert inbound.accept(1, Cancel(seq=1, utterance=0)) is Verdict.DELIVERED
    with pytest.raises(UnexpectedMessage, match="nothing but cancel may follow stream_end"):
        inbound.accept(2, frame(2))
    assert seqs(inbound.ready) == [0, 1]


def test_what_was_held_may_not_follow_the_end_either() -> None:
    inbound = Inbound(reorder=2)
    inbound.accept(1, frame(1))
    with pytest.raises(UnexpectedMessage):
        inbound.accept(0, StreamEnd(seq=0))
