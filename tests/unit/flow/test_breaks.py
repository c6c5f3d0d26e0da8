import pytest

from legato.flow.breaks import Break, Breaks, Place, breakable
from legato.flow.punctuation import Kind


def test_the_best_sort_wins_even_if_another_place_is_later() -> None:
    breaks = Breaks()
    breaks.note(Break.PAUSE, Place(12, 12))
    breaks.note(Break.SPACE, Place(18, 18))
    assert breaks.best(10) == Place(12, 12)


def test_a_place_that_leaves_too_little_yields_to_a_lesser_sort() -> None:
    breaks = Breaks()
    breaks.note(Break.PAUSE, Place(3, 3))
    breaks.note(Break.SPACE, Place(18, 18))
    assert breaks.best(10) == Place(18, 18)


def test_if_all_leave_too_little_the_last_place_is_taken() -> None:
    breaks = Breaks()
    breaks.note(Break.PAUSE, Place(3, 3))
    breaks.note(Break.SPACE, Place(5, 5))
    assert breaks.best(10) == Place(5, 5)


def test_without_a_place_there_is_no_best() -> None:
    assert Breaks().best(0) is None


def test_the_space_before_a_conjunction_is_a_weak_pause() -> None:
    breaks = Breaks()
    breaks.note_space("bread", Place(6, 6))
    breaks.note_space("And", Place(10, 10))
    breaks.note_space("butter", Place(17, 17))
    assert breaks.best(1) == Place(6, 6)


@pytest.mark.parametrize("before", [None, Place(2, 2)])
def test_a_conjunction_that_no_space_precedes_is_none(before: Place | None) -> None:
    breaks = Breaks()
    if before:
        breaks.note(Break.SPACE, before)
    breaks.note_space("and", Place(10, 10))
    assert breaks.best(1) == Place(10, 10)


def test_places_follow_the_text_that_is_left() -> None:
    breaks = Breaks()
    breaks.note(Break.PAUSE, Place(4, 12))
    breaks.note(Break.SPACE, Place(9, 17))
    breaks.drop(Place(4, 12))
    assert breaks.best(0) == Place(5, 5)


@pytest.mark.parametrize(
    ("before", "kind", "expected"),
    [
        (Kind.IDEOGRAPH, Kind.IDEOGRAPH, True),
        (Kind.IDEOGRAPH, Kind.UPPER, True),
        (Kind.IDEOGRAPH, Kind.OPEN, True),
        (Kind.IDEOGRAPH, Kind.STOP, False),
        (Kind.DIGIT, Kind.IDEOGRAPH, True),
        (Kind.OPEN, Kind.IDEOGRAPH, False),
        (Kind.LOWER, Kind.LOWER, False),
    ],
)
def test_only_an_ideograph_makes_a_place_between_characters(
    before: Kind, kind: Kind, *, expected: bool
) -> None:
    assert breakable(before, kind) is expected
