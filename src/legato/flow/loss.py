"""Which packets of a link are lost: each for itself, or in bursts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol


class Chance(Protocol):
    """What is needed of `random.Random`."""

    def random(self) -> float:
        """Return a number in [0, 1)."""
        ...


Lose = Callable[[Chance], bool]
"""Draws whether the next packet is lost."""


@dataclass(frozen=True, slots=True)
class Loss:
    """Each packet is lost with the same chance, whatever became of the others.

    Attributes:
        share: Of the packets, 0 to 1.
    """

    share: float

    def __post_init__(self) -> None:
        _check("share", self.share)

    def begin(self) -> Lose:
        """Return the draw for one link."""
        share = self.share
        return lambda rng: share > 0 and rng.random() < share


@dataclass(frozen=True, slots=True, kw_only=True)
class BurstLoss:
    """A good and a bad state, each with its own chance (Gilbert 1960, Elliott 1963).

    Attributes:
        to_bad: Chance that a packet finds the link turned bad.
        to_good: Chance that a packet finds it turned good; bursts last 1 / `to_good` packets.
        bad_share: Lost in the bad state; 1 is Gilbert's simple model.
        good_share: Lost in the good state.
    """

    to_bad: float
    to_good: float
    bad_share: float = 1.0
    good_share: float = 0.0

    def __post_init__(self) -> None:
        for name in ("to_bad", "to_good", "bad_share", "good_share"):
            _check(name, getattr(self, name))

    @property
    def share(self) -> float:
        """Of the packets that are lost in the long run; a link begins good."""
        turns = self.to_bad + self.to_good
        bad = self.to_bad / turns if turns else 0.0
        return bad * self.bad_share + (1 - bad) * self.good_share

    def begin(self) -> Lose:
        """Return the draw for one link, with a state of its own."""
        is_bad = False

        def lose(rng: Chance) -> bool:
            nonlocal is_bad
            turns = rng.random() < (self.to_good if is_bad else self.to_bad)
            is_bad = is_bad != turns
            return rng.random() < (self.bad_share if is_bad else self.good_share)

        return lose


def _check(name: str, chance: float) -> None:
    if not 0 <= chance <= 1:
        raise ValueError(f"{name} must be 0 to 1, not {chance}")


NO_LOSS: Final = Loss(0.0)
