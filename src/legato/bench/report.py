"""Rows as cells of a table for people: three digits, units that are easy to read."""

from __future__ import annotations

from legato.bench.row import Row

HEADINGS = ("row", "value", "bound", "verdict", "n", "p50", "p95", "p99", "spread")


def cells(row: Row) -> list[str]:
    """Return the cells of a row, one for each of `HEADINGS`."""
    scale, unit = _unit_of(row)

    def shown(value: float | None) -> str:
        return "" if value is None else digits(value * scale)

    return [
        row.name,
        f"{shown(row.value)} {unit}" if row.value is not None else "",
        f"≤ {shown(row.bound)}" if row.bound is not None else "",
        row.verdict,
        str(row.n or ""),
        shown(row.p50),
        shown(row.p95),
        shown(row.p99),
        shown(row.spread),
    ]


def _unit_of(row: Row) -> tuple[float, str]:
    """Return factor and unit; a row of short times is shown in milliseconds."""
    if row.unit == "s" and max(row.value or 0.0, row.bound or 0.0) < 1:
        return 1e3, "ms"
    return 1.0, "µs" if row.unit == "us" else row.unit


def digits(value: float) -> str:
    """Return a number with about three digits."""
    if value == round(value) or abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
