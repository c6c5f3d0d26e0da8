"""Figures with their bounds, and the rows of a run: what was measured, and how it scattered."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

INTERESTING = (0.5, 0.95, 0.99)

Json = dict[str, str | float | bool | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One figure of one run.

    Attributes:
        name: Of the figure.
        unit: Of all numbers of the row but `n`.
        bound: Most that `value` may be, or None for a row that only informs.
        value: What is held against the bound; None if it was not measured, and `note` says why.
        n: Number of samples.
        p50: Median of the samples.
        p95: 95th percentile.
        p99: 99th percentile.
        spread: Largest sample minus the smallest.
        note: What a reader must know.
    """

    name: str
    unit: str
    bound: float | None = None
    value: float | None = None
    n: int = 0
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None
    spread: float | None = None
    note: str = ""

    @property
    def ok(self) -> bool | None:
        """Whether the bound holds; None without a bound or a value."""
        if self.bound is None or self.value is None:
            return None
        return self.value <= self.bound

    @property
    def verdict(self) -> str:
        """`ok`, `not reached` or `not measured`; empty for a row that only informs."""
        if self.value is None:
            return "not measured"
        if self.bound is None:
            return ""
        return "ok" if self.ok else "not reached"

    def as_json(self, machine: str) -> Json:
        """Return the row for a program."""
        return {
            "name": self.name,
            "value": self.value,
            "unit": self.unit,
            "bound": self.bound,
            "ok": self.ok,
            "n": self.n,
            "p50": self.p50,
            "p95": self.p95,
            "p99": self.p99,
            "spread": self.spread,
            "machine": machine,
            "note": self.note,
        }


@dataclass(frozen=True, slots=True)
class Figure:
    """Something that a benchmark measures.

    Attributes:
        name: `benchmark.figure`.
        unit: Of its value.
        bound: Most that it may be, or None.
    """

    name: str
    unit: str
    bound: float | None = None

    def row(self, value: float, *, n: int = 1, note: str = "", bound: float | None = None) -> Row:
        """Make a row of one value.

        Args:
            value: As measured.
            n: Samples behind it.
            note: What a reader must know.
            bound: Instead of the figure's own, where it depends on the run.
        """
        limit = self.bound if bound is None else bound
        return Row(name=self.name, unit=self.unit, bound=limit, value=value, n=n, note=note)

    def of(self, samples: Sequence[float], share: float = 0.5, *, note: str = "") -> Row:
        """Make a row whose value is a percentile of samples.

        Args:
            samples: At least one.
            share: 0.5 for the median, 0.99 for p99.
            note: What a reader must know.

        Raises:
            ValueError: If there are no samples.
        """
        p50, p95, p99 = (percentile(samples, level) for level in INTERESTING)
        return Row(
            name=self.name,
            unit=self.unit,
            bound=self.bound,
            value=percentile(samples, share),
            n=len(samples),
            p50=p50,
            p95=p95,
            p99=p99,
            spread=max(samples) - min(samples),
            note=note,
        )

    def missing(self, why: str) -> Row:
        """Make the row of a figure that was not measured."""
        return Row(name=self.name, unit=self.unit, bound=self.bound, note=why)


def percentile(samples: Sequence[float], share: float) -> float:
    """Return the median for 0.5, else the least sample that `share` of all are not above.

    Raises:
        ValueError: If there are no samples.
    """
    if not samples:
        raise ValueError("no samples")
    if share == INTERESTING[0]:
        return statistics.median(samples)
    ordered = sorted(samples)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
