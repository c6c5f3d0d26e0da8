import pytest

from legato.flow.sequence import SPAN, distance, is_after, unwrap, wrap


@pytest.mark.parametrize(
    ("number", "wrapped"),
    [(0, 0), (SPAN - 1, SPAN - 1), (SPAN, 0), (3 * SPAN + 7, 7), (-1, SPAN - 1)],
)
def test_a_number_wraps_at_32_bits(number: int, wrapped: int) -> None:
    assert wrap(number) == wrapped


@pytest.mark.parametrize(
    ("start", "end", "steps"),
    [
        (5, 5, 0),
        (5, 8, 3),
        (8, 5, -3),
        (SPAN - 1, 0, 1),
        (0, SPAN - 1, -1),
        (0, SPAN // 2, -SPAN // 2),
    ],
)
def test_distance_goes_the_shorter_way_round(start: int, end: int, steps: int) -> None:
    assert distance(start, end) == steps


def test_the_number_after_the_wrap_is_after_the_one_before_it() -> None:
    assert is_after(0, SPAN - 1)
    assert not is_after(SPAN - 1, 0)
    assert not is_after(4, 4)


@pytest.mark.parametrize(
    ("number", "near", "endless"),
    [
        (7, 0, 7),
        (0, SPAN - 1, SPAN),
        (SPAN - 1, SPAN, SPAN - 1),
        (9, 5 * SPAN, 5 * SPAN + 9),
        (SPAN - 1, 0, -1),
    ],
)
def test_unwrap_finds_the_nearest_number(number: int, near: int, endless: int) -> None:
    assert unwrap(number, near) == endless
