"""The table as Markdown, between two markers of a page that is otherwise written by hand."""

from __future__ import annotations

from collections.abc import Sequence

from legato.bench.report import HEADINGS, cells
from legato.bench.row import Row

BEGIN = "<!-- bench: begin -->"
END = "<!-- bench: end -->"


class NoMarkers(ValueError):
    """A page has no place for the table."""


def with_table(page: str, table: str) -> str:
    """Return `page` with what is between its markers replaced.

    Raises:
        NoMarkers: If it does not hold both, once and in order.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end or END in before or BEGIN in rest or END in after:
        raise NoMarkers(f"the page needs one line {BEGIN} and after it one line {END}")
    return f"{before}{BEGIN}\n{table.strip()}\n{END}{after}"


def table_of(rows: Sequence[Row], *, command: str, machine: str, date: str) -> str:
    """Return the table and what it was measured on.

    Args:
        rows: Of one run.
        command: What was typed.
        machine: In one line.
        date: Day of the run.
    """
    lines = [
        f"`{command}`, {date}, on {machine}.",
        "",
        f"| {' | '.join(HEADINGS)} |",
        "|---" * len(HEADINGS) + "|",
        *map(_line, rows),
        "",
        *(f"- `{row.name}`: {_plain(row.note)}" for row in rows if row.note),
    ]
    return "\n".join(lines)


def _line(row: Row) -> str:
    name, value, bound, verdict, *rest = cells(row)
    marked = f"**{verdict}**" if verdict.startswith("not") else verdict
    return f"| {' | '.join([f'`{name}`', value, bound, marked, *rest])} |"


def _plain(note: str) -> str:
    return note.replace("<", "&lt;").replace("|", "\\|")
