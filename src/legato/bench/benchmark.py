"""What a benchmark is, and the conditions that a run gives it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from legato.bench.row import Figure, Row

Tell = Callable[[str], None]
"""Shows how far the run is, to a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """Conditions of a run.

    Attributes:
        quick: Few repetitions: shows that it works, and measures nothing.
        pipecat: Python of an environment that has pipecat, or None.
        tell: Shows how far it is.
    """

    quick: bool = False
    pipecat: Path | None = None
    tell: Tell

    def times(self, full: int, quick: int = 1) -> int:
        """Choose how often to repeat."""
        return quick if self.quick else full


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """Figures that are measured together.

    Attributes:
        name: First part of its figures' names.
        about: What is measured, in one sentence.
        figures: What `run` returns a row for.
        run: Measures.
        timeout: Seconds that it may take.
        served: Whether it starts a server.
        named_only: Whether it runs only when it is named: it takes too long for the whole.
    """

    name: str
    about: str
    figures: tuple[Figure, ...]
    run: Callable[[Setup], Awaitable[Sequence[Row]]]
    timeout: float = 120.0
    served: bool = True
    named_only: bool = False

    def is_meant_by(self, name: str) -> bool:
        """Whether `name` is this benchmark, one of its figures, or the beginning of either."""
        known = (self.name, *(figure.name for figure in self.figures))
        return any(f"{full}.".startswith(f"{name}.") for full in known)

    def missing(self, why: str) -> list[Row]:
        """Make the rows of a benchmark that did not come to its end."""
        return [figure.missing(why) for figure in self.figures]
