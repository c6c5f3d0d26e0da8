import pytest

from legato.engines.batch_turns import NEAR, Place, chosen, held_until, rank
from legato.flow.urgency import NEVER, PATIENCE, Rank

NOW = 100.0


def place(ticket: int, *, turn: int = 0, since: float = NOW, lead: float | None = None) -> Place:
    """A stream that has said nothing, or that has so many seconds of lead."""
    return Place(
        ticket=ticket,
        turn=turn,
        since=since,
        under_way=lead is not None,
        covered_until=NEVER if lead is None else NOW + lead,
    )


def test_streams_about_to_underrun_come_before_new_ones_and_those_before_the_ones_ahead() -> None:
    places = [place(1, lead=NEAR + 1), place(2), place(3, lead=NEAR - 1)]
    assert chosen(places, 2, NOW) == [3, 2]


def test_last_words_come_before_live_speech() -> None:
    waited_for = Place(ticket=2, turn=2, since=NOW, last_words=True)
    assert chosen([place(1, turn=1), waited_for], 1, NOW) == [2]


def test_within_a_rank_they_take_turns() -> None:
    places = [place(1, turn=8), place(2, turn=6), place(3, turn=7)]
    assert chosen(places, 9, NOW) == [2, 3, 1]


def test_all_that_always_have_work_get_as_many_steps() -> None:
    turns = {ticket: ticket for ticket in range(5)}
    steps = dict.fromkeys(turns, 0)
    for _ in range(100):
        for ticket in chosen((place(t, turn=turn) for t, turn in turns.items()), 2, NOW):
            steps[ticket] += 1
            turns[ticket] = max(turns.values()) + 1
    assert set(steps.values()) == {40}


def test_one_far_ahead_waits_but_not_for_ever() -> None:
    behind = place(1, turn=5, since=NOW - 2 * PATIENCE, lead=60)
    assert rank(behind, NOW) is Rank.DUE
    assert chosen([place(2, turn=6, lead=0), behind], 1, NOW) == [1]


@pytest.mark.parametrize(
    ("ready", "expected", "took", "until"),
    [
        (1, 0, 0.1, NEVER),
        (4, 3, 0.1, NEVER),
        (1, 3, 0.1, NOW + 0.003),
        (1, 3, 0.002, NOW + 0.001),
    ],
    ids=["nobody is expected", "the batch is full", "the bound", "half a step"],
)
def test_a_step_waits_only_for_those_that_were_in_the_last_and_never_long(
    ready: int, expected: int, took: float, until: float
) -> None:
    assert until == held_until(
        ready=ready, expected=expected, capacity=4, ended=NOW, took=took, max_wait=0.003
    )
