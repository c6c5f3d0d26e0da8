"""32-bit sequence numbers that wrap, as frames carry them, and the endless ones behind them."""

from __future__ import annotations

from typing import Final

BITS: Final = 32
SPAN: Final = 1 << BITS
"""How many numbers there are before they repeat."""

_MASK: Final = SPAN - 1
_HALF: Final = SPAN >> 1


def wrap(number: int) -> int:
    """Return what a 32-bit field holds of an endless `number`."""
    return number & _MASK


def distance(start: int, end: int) -> int:
    """Return the steps from one wrapped number to another, the shorter way round.

    Serial number arithmetic of RFC 1982, section 3.2; where that leaves the answer open (exactly
    half of the circle apart) the way is backwards.

    Returns:
        -2^31 to 2^31 - 1; positive if `end` comes after `start`.
    """
    return ((end - start + _HALF) & _MASK) - _HALF


def is_after(number: int, other: int) -> bool:
    """Whether one wrapped number comes after another."""
    return distance(other, number) > 0


def unwrap(number: int, near: int) -> int:
    """Return the endless number that wraps to `number` and lies nearest to `near`.

    The inverse of `wrap` for anything from 2^31 before `near` to 2^31 - 1 after it.

    Args:
        number: As a frame carries it.
        near: An endless number, such as the next one expected.

    Returns:
        May be negative: then it lies before the first number, and `near` is close to 0.
    """
    return near + distance(wrap(near), number)
