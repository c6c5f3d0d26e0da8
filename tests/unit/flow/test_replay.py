import pytest

from legato.errors import ResumeGap
from legato.flow.replay import Replay


def replay_of(*numbers: int, bound: int = 100) -> Replay[str]:
    replay: Replay[str] = Replay(bound=bound)
    for number in numbers:
        replay.keep(number, f"item {number}", 10)
    return replay


def test_what_is_kept_can_be_sent_again_in_order() -> None:
    assert replay_of(0, 1, 2).since(1) == ["item 1", "item 2"]


def test_numbers_may_have_holes() -> None:
    assert replay_of(0, 7).since(1) == ["item 7"]


def test_what_the_peer_has_done_with_is_forgotten() -> None:
    replay = replay_of(0, 1, 2)
    replay.release(1)
    assert len(replay) == 1
    assert replay.total == 10
    assert not replay.complete


def test_the_range_that_is_forgotten_is_named() -> None:
    replay = replay_of(0, 1, 2)
    replay.release(1)
    with pytest.raises(ResumeGap) as caught:
        replay.since(0)
    assert caught.value.missing == (0, 2)


def test_what_was_not_received_is_kept_over_the_bound() -> None:
    replay = replay_of(0, 1, 2, bound=10)
    assert replay.since(0) == ["item 0", "item 1", "item 2"]
    assert replay.complete


def test_over_the_bound_the_oldest_that_was_received_is_forgotten() -> None:
    replay = replay_of(0, 1, 2, bound=10)
    replay.receive(0)
    assert replay.since(1) == ["item 1", "item 2"]
    replay.receive(2)
    assert replay.since(2) == ["item 2"]


def test_keeping_more_lets_go_of_what_was_received() -> None:
    replay = replay_of(0, bound=10)
    replay.receive(0)
    replay.keep(1, "item 1", 10)
    assert replay.since(1) == ["item 1"]
    assert len(replay) == 1


def test_an_item_above_the_bound_is_let_go_when_it_was_received() -> None:
    replay: Replay[str] = Replay(bound=5)
    replay.keep(0, "large", 10)
    replay.receive(0)
    assert len(replay) == 0


def test_only_a_higher_number_is_news() -> None:
    replay = replay_of(0, 1)
    assert replay.receive(1)
    assert not replay.receive(1)
    assert not replay.receive(0)
    assert replay.received == 1


def test_it_knows_whether_something_may_be_missing() -> None:
    replay = replay_of()
    seen = [replay.unreceived]
    replay.keep(0, "item 0", 10)
    seen.append(replay.unreceived)
    replay.receive(0)
    seen.append(replay.unreceived)
    assert seen == [False, True, False]


def test_what_was_never_here_can_be_known_to_have_arrived() -> None:
    replay = replay_of()
    replay.forget(4)
    assert (replay.received, replay.complete) == (4, False)
    replay.keep(5, "item 5", 10)
    assert replay.since(5) == ["item 5"]
    with pytest.raises(ResumeGap) as caught:
        replay.since(3)
    assert caught.value.missing == (3, 5)


def test_before_the_first_item_nothing_is_forgotten() -> None:
    replay = replay_of()
    replay.forget(-1)
    assert replay.complete
    assert replay.since(0) == []
