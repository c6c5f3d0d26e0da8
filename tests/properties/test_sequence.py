from hypothesis import given
from hypothesis import strategies as st

from legato.flow.sequence import SPAN, distance, is_after, unwrap, wrap

endless = st.integers(min_value=0, max_value=2**70)
wrapped = st.integers(min_value=0, max_value=SPAN - 1)
near_steps = st.integers(min_value=-SPAN // 2, max_value=SPAN // 2 - 1)


@given(near=endless, steps=near_steps)
def test_unwrap_is_the_inverse_of_wrap(near: int, steps: int) -> None:
    assert unwrap(wrap(near + steps), near) == near + steps


@given(number=wrapped, near=endless)
def test_what_is_unwrapped_wraps_to_the_same(number: int, near: int) -> None:
    found = unwrap(number, near)

    assert wrap(found) == number
    assert -SPAN // 2 <= found - near < SPAN // 2


@given(start=wrapped, steps=near_steps)
def test_distance_undoes_a_step(start: int, steps: int) -> None:
    assert distance(start, wrap(start + steps)) == steps


@given(number=wrapped, other=wrapped)
def test_at_most_one_of_two_numbers_is_after_the_other(number: int, other: int) -> None:
    assert not (is_after(number, other) and is_after(other, number))
    assert (distance(number, other) == 0) == (number == other)
