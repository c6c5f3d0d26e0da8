"""`legato voices`: engines and voices of a server."""

from __future__ import annotations

import json
from collections.abc import Iterable

import typer
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from legato.cli.loop import run
from legato.cli.options import CaFile, Insecure, Json, Url
from legato.cli.own_voices import own_rows
from legato.cli.pipes import emit, show
from legato.cli.target import Target
from legato.client.catalog import Engine
from legato.client.own_voices import OwnVoice


def voices(
    context: typer.Context,
    as_json: Json = False,
    url: Url = None,
    ca_file: CaFile = None,
    insecure: Insecure = False,
) -> None:
    """List engines and voices, and what each speaks; bring and remove voices of your own."""
    if context.invoked_subcommand is not None:
        return
    target = Target(url, ca_file=ca_file, insecure=insecure, quiet=as_json)
    engines, own = run(_listed(target))
    if as_json:
        facts = [dict(engine.facts) for engine in engines]
        brought = [dict(voice.facts) for voice in own]
        emit(json.dumps({"engines": facts, "own": brought}, ensure_ascii=False))
        return
    table = Table(box=None, pad_edge=False)
    for title in ("voice", "engine", "task", "languages", "state", "about"):
        table.add_column(title)
    for row in (*own_rows(own), *(row for engine in engines for row in rows(engine))):
        table.add_row(*map(escape, row))
    show(table, Text("* chosen when none is named", style="dim"))
    if other := aliases(engines):
        names = Table(box=None, pad_edge=False)
        names.add_column("spoken by")
        names.add_column("names from elsewhere (docs/voices.md)")
        for row in other:
            names.add_row(*map(escape, row))
        show(names)


def rows(engine: Engine) -> list[tuple[str, ...]]:
    """Return the lines of the table for one engine: one for each voice that can be used."""
    state = engine.state + ("*" if engine.default else "")
    if not engine.voices or engine.state == "unavailable":
        languages = " ".join(engine.languages) or "any"
        return [("-", engine.name, engine.kind, languages, state, engine.reason or "")]
    return [
        (
            voice.name,
            engine.name,
            engine.kind,
            " ".join(voice.languages or engine.languages) or "any",
            state,
            voice.description,
        )
        for voice in engine.voices
    ]


def aliases(engines: Iterable[Engine]) -> list[tuple[str, str]]:
    """Return each voice that speaks for names of other services, with those names."""
    return [
        (f"{voice['name']} ({engine.name})", " ".join(voice["aliases"]))
        for engine in engines
        for voice in engine.facts.get("voices", ())
        if voice.get("aliases")
    ]


async def _listed(target: Target) -> tuple[list[Engine], list[OwnVoice]]:
    async with target.client() as client:
        return await client.engines(), await client.own_voices.list()
