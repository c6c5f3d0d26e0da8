import pytest

from legato.flow.urgency import NEAR, NEVER, PATIENCE, Rank, lifted, standing

NOW = 100.0


@pytest.mark.parametrize(
    ("under_way", "covered_until", "expected"),
    [
        (False, NEVER, Rank.FIRST),
        (False, NOW + 60, Rank.FIRST),
        (True, NEVER, Rank.DUE),
        (True, NOW + NEAR - 0.01, Rank.DUE),
        (True, NOW + NEAR, Rank.AHEAD),
    ],
)
def test_who_would_soon_have_nothing_is_due_and_who_has_a_lead_is_not(
    under_way: bool, covered_until: float, expected: Rank
) -> None:
    assert standing(under_way=under_way, covered_until=covered_until, now=NOW) is expected


def test_how_near_is_too_near_can_be_told() -> None:
    close = {
        near: standing(under_way=True, covered_until=NOW + 1, now=NOW, near=near)
        for near in (1, 1.1)
    }
    assert close == {1: Rank.AHEAD, 1.1: Rank.DUE}


def test_waiting_lifts_by_a_rank_each_time_and_never_above_the_first() -> None:
    lifts = [lifted(Rank.AHEAD, waited=PATIENCE * times) for times in (0, 0.9, 1, 2, 3, 50)]
    assert lifts == [Rank.AHEAD, Rank.AHEAD, Rank.FIRST, Rank.DUE, Rank.DUE, Rank.DUE]
