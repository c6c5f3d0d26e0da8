"""`legato bench`: measure, and hold the figures against their bounds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import JustifyMethod
from rich.table import Table
from rich.text import Text

from legato.bench.benchmark import Benchmark, Setup
from legato.bench.machine import describe
from legato.bench.page import NoMarkers, table_of, with_table
from legato.bench.report import HEADINGS, cells
from legato.bench.row import Row
from legato.bench.runner import run_all
from legato.cli.bench_engines import (
    CONCURRENCY,
    Concurrency,
    EngineNames,
    Form,
    measure_engines,
)
from legato.cli.exits import ERR, Exit, PlainConsole
from legato.cli.extras import need
from legato.cli.loop import run
from legato.cli.options import ConfigFile
from legato.cli.pipes import emit, show

PIPECAT = Path(".bench-venv/bin/python")
"""Where `make bench` puts it, seen from the checkout."""

ENGINES = "engines"
"""What measures engines alone; its table is one of its own."""

WIDTH = 110
"""Columns of a table that goes to a file or a pipe."""

STYLES = {"ok": "green", "not reached": "bold red", "not measured": "yellow", "": "dim"}


Pipecat = Annotated[
    Path | None,
    typer.Option(help=f"Python that has pipecat [default: {PIPECAT}, if it is there]."),
]
Page = Annotated[
    Path | None,
    typer.Option(help="Write the table of all rows into this page, between its markers."),
]


def bench(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Benchmarks or rows, such as echo or speak."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON list of rows.")] = False,
    as_list: Annotated[bool, typer.Option("--list", help="Say what there is, and stop.")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 if a bound is missed or not measured.")
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Few repetitions: shows that it works, no more.")
    ] = False,
    pipecat: Pipecat = None,
    docs: Page = None,
    engine: EngineNames = None,
    concurrency: Concurrency = CONCURRENCY,
    config: ConfigFile = None,
) -> None:
    """Measure this installation and hold it against the bounds of the design.

    `legato bench engines` measures the engines alone instead: how long each makes its users wait
    with so many of them at once.
    """
    if _is_of_engines(names or [], engine, alone=pipecat is None and not strict):
        if docs is not None:
            _check_page(docs, partial=quick)
        form = Form(as_json=as_json, as_list=as_list, docs=docs)
        measure_engines(engine, concurrency, config, form=form, quick=quick)
        return
    benchmarks = _chosen(names or [])
    if as_list:
        _list(benchmarks, whole=not names)
        return
    if docs is not None:
        _check_page(docs, partial=bool(names) or quick)
    _check_extras(benchmarks)
    rows = run(_measure(benchmarks, quick=quick, pipecat=pipecat or _found(PIPECAT)))
    _print(rows, as_json=as_json)
    if docs is not None:
        docs.write_text(with_table(docs.read_text("utf-8"), _table(rows)), "utf-8")
    if strict:
        _judge(rows)


def _is_of_engines(names: Sequence[str], engine: Sequence[str] | None, *, alone: bool) -> bool:
    if ENGINES not in names:
        if engine:
            _refuse("--engine is an option of `legato bench engines`")
        return False
    if len(names) > 1 or not alone:
        _refuse("engines is measured alone, and has no --pipecat and no --strict")
    return True


def _chosen(names: Sequence[str]) -> list[Benchmark]:
    # Loads numpy and more, which every other command would have to wait for.
    from legato.bench.catalog import UnknownBenchmark, chosen

    try:
        return chosen(names)
    except UnknownBenchmark as error:
        _refuse(str(error), error)


def _judge(rows: Sequence[Row]) -> None:
    if any(row.bound is not None and not row.ok for row in rows):
        raise typer.Exit(Exit.FAILED)


def _list(benchmarks: Sequence[Benchmark], *, whole: bool) -> None:
    for benchmark in benchmarks:
        emit(f"{benchmark.name}: {benchmark.about}")
        for figure in benchmark.figures:
            bound = "" if figure.bound is None else f" at most {figure.bound:g} {figure.unit}"
            emit(f"  {figure.name}{bound}")
    if whole:
        emit(f"{ENGINES}: What each engine costs here; named alone, its table is its own.")


def _check_page(page: Path, *, partial: bool) -> None:
    """Leave before the run rather than after it."""
    if partial:
        _refuse("--docs takes the table of all rows: give no NAME and no --quick")
    try:
        with_table(page.read_text("utf-8"), "")
    except (OSError, NoMarkers) as error:
        _refuse(f"{page}: {error}", error)


def _check_extras(benchmarks: Sequence[Benchmark]) -> None:
    if any(benchmark.served for benchmark in benchmarks):
        need("server")
        need("voices")


def _found(program: Path) -> Path | None:
    return program if program.exists() else None


def _refuse(sentence: str, cause: Exception | None = None) -> NoReturn:
    ERR.print(f"legato: {sentence}", markup=False)
    raise typer.Exit(Exit.USAGE) from cause


async def _measure(
    benchmarks: Sequence[Benchmark], *, quick: bool, pipecat: Path | None
) -> list[Row]:
    with ERR.status("") as status:
        at_hand = ""

        def begin(benchmark: Benchmark) -> None:
            nonlocal at_hand
            at_hand = benchmark.name
            if not ERR.is_terminal:
                ERR.print(f"legato: {benchmark.name}", markup=False)

        def tell(text: str) -> None:
            status.update(f"{at_hand}: {text}")

        setup = Setup(quick=quick, pipecat=pipecat, tell=tell)
        return await run_all(benchmarks, setup, begin=begin)


def _print(rows: Sequence[Row], *, as_json: bool) -> None:
    machine = describe()
    if as_json:
        emit(json.dumps([row.as_json(machine) for row in rows], ensure_ascii=False, indent=1))
        return
    table = Table(box=None, pad_edge=False)
    for heading in HEADINGS:
        justify: JustifyMethod = "left" if heading in {"row", "verdict"} else "right"
        table.add_column(heading, justify=justify, overflow="fold")
    for row in rows:
        table.add_row(*cells(row), style=STYLES[row.verdict])
    console = PlainConsole()
    if not console.is_terminal:
        console.width = max(console.width, WIDTH)
    notes = (f"{row.name}: {row.note}" for row in rows if row.note)
    show(table, Text(f"on {machine}", style="dim"), console=console)
    show(*(Text(note, style="dim") for note in notes), console=PlainConsole(soft_wrap=True))


def _table(rows: Sequence[Row]) -> str:
    date = datetime.now(UTC).date().isoformat()
    return table_of(rows, command="make bench", machine=describe(), date=date)
