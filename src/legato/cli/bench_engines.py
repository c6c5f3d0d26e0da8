"""`legato bench engines`: what each engine costs on this machine."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.table import Table
from rich.text import Text

from legato.bench.machine import describe
from legato.bench.page import with_table
from legato.cli.exits import ERR, BadUsage, PlainConsole
from legato.cli.loop import run
from legato.cli.options import as_text
from legato.cli.pipes import emit, show

if TYPE_CHECKING:
    from legato.bench.engines import Candidate, Reading

CONCURRENCY: Final = "1,2,4,8"
MOST: Final = 256
QUICK_SECONDS: Final = 1.0
WIDTH: Final = 120
NOT_UNASKED: Final = "tone"
"""Makes tones for tests: measured only if it is named."""


def _names(values: list[str] | None) -> list[str] | None:
    return values and [as_text(value) or "" for value in values]


EngineNames = Annotated[
    list[str] | None,
    typer.Option(
        "--engine",
        metavar="NAME",
        callback=_names,
        help="Of `engines`: which to measure, with the options of the settings; several are named"
        " one by one. Without it all of the settings that are installed.",
        show_default=False,
    ),
]
Concurrency = Annotated[
    str,
    typer.Option(
        "--concurrency", metavar="N", help="Of `engines`: streams at once, level by level."
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """What is made of the readings.

    Attributes:
        as_json: A JSON list instead of a table.
        as_list: Nothing is measured; the engines are named.
        docs: A page that the table is written into as well, between its markers.
    """

    as_json: bool = False
    as_list: bool = False
    docs: Path | None = None


def measure_engines(
    names: Sequence[str] | None,
    concurrency: str,
    config: Path | None,
    *,
    form: Form,
    quick: bool,
) -> None:
    """Measure engines, and print one line for each number of streams at once.

    Raises:
        LegatoError: If an engine is not known, or an option is wrong.
    """
    candidates, levels = _candidates(names, config), _levels(concurrency)
    if form.as_list:
        for one in candidates:
            emit(f"{one.name} ({one.kind})")
        return
    machine = f"{describe()}, load {os.getloadavg()[0]:.1f} before"
    readings = run(_measure(candidates, levels[:2] if quick else levels, quick=quick))
    if form.as_json:
        rows = [reading.as_json(machine) for reading in readings]
        emit(json.dumps(rows, ensure_ascii=False, indent=1))
    else:
        show_table(readings, machine)
    if form.docs is not None:
        text = table_for_page(readings, names, concurrency, machine)
        form.docs.write_text(with_table(form.docs.read_text("utf-8"), text), "utf-8")


def table_for_page(
    readings: Sequence[Reading], names: Sequence[str] | None, concurrency: str, machine: str
) -> str:
    """Return the table as Markdown, with the command that makes it again."""
    from legato.bench.engines import markdown

    asked = [f"--engine {name}" for name in names or ()]
    if concurrency != CONCURRENCY:
        asked.append(f"--concurrency {concurrency}")
    command = " ".join(["legato bench engines", *asked])
    return markdown(readings, command=command, machine=machine, date=_today())


async def _measure(
    candidates: Sequence[Candidate], levels: Sequence[int], *, quick: bool
) -> list[Reading]:
    from legato.bench.engines import LIVE, SECONDS, measure

    with ERR.status("") as status:

        def tell(text: str) -> None:
            status.update(text)
            if not ERR.is_terminal:
                ERR.print(f"legato: {text}", markup=False)

        seconds, live = (QUICK_SECONDS, 1) if quick else (SECONDS, LIVE)
        return await measure(candidates, concurrency=levels, seconds=seconds, live=live, tell=tell)


def _levels(text: str) -> list[int]:
    try:
        levels = [int(part) for part in text.split(",")]
    except ValueError:
        levels = []
    if not levels or not all(1 <= level <= MOST for level in levels):
        raise BadUsage(f"--concurrency: numbers from 1 to {MOST}, such as {CONCURRENCY}")
    return levels


def _candidates(names: Sequence[str] | None, config: Path | None) -> list[Candidate]:
    """Return the engines to be measured: of the settings, and others that are named."""
    from legato.bench.engines import Candidate
    from legato.engines import registry
    from legato.engines.base import EngineKind
    from legato.errors import UnknownEngine
    from legato.settings import load

    worker = load(file=config).settings.worker
    known = {
        (spec.kind, spec.name): Candidate(
            kind=spec.kind.value,
            name=spec.name,
            target=spec.target,
            slots=spec.slots,
            options=spec.options or {},
            load_timeout=worker.load_timeout,
        )
        for spec in worker.engines
    }
    registered = {(kind, one.name): one for kind in EngineKind for one in registry.listings(kind)}
    if names is None or not names:
        missing = {key for key, one in registered.items() if one.missing is not None}
        return [one for key, one in known.items() if one.name != NOT_UNASKED and key not in missing]
    found = [
        known.get(key)
        or Candidate(kind=key[0].value, name=key[1], load_timeout=worker.load_timeout)
        for name in names
        for key in dict.fromkeys([*known, *registered])
        if key[1] == name
    ]
    unknown = set(names) - {one.name for one in found}
    if unknown:
        there = ", ".join(sorted({name for _, name in [*known, *registered]}))
        raise UnknownEngine(f"no engine is called {min(unknown)}; there are {there}")
    return found


def show_table(readings: Sequence[Reading], machine: str) -> None:
    """Print the readings for a person."""
    from legato.bench.engines import HEADINGS, LEGEND

    table = Table(box=None, pad_edge=False)
    for place, heading in enumerate(HEADINGS):
        table.add_column(heading, justify="left" if place < 2 else "right", overflow="fold")
    for reading in readings:
        if not reading.note:
            table.add_row(*reading.cells())
    console = PlainConsole()
    if not console.is_terminal:
        console.width = max(console.width, WIDTH)
    show(table, Text(f"on {machine}, {_today()}", style="dim"), console=console)
    notes = [f"{reading.engine}: {reading.note}" for reading in readings if reading.note]
    show(*(Text(note) for note in notes), Text(LEGEND, style="dim"))


def _today() -> str:
    return datetime.now(UTC).date().isoformat()
