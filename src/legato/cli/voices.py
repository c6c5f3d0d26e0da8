"""`legato voices`: engines and voices of a server."""

from __future__ import annotations

import json

from rich.markup import escape
from rich.table import Table
from rich.text import Text

from legato.cli.loop import run
from legato.cli.options import CaFile, Insecure, Json, Url
from legato.cli.pipes import emit, show
from legato.cli.target import Target
from legato.client.catalog import Engine


def voices(
    as_json: Json = False, url: Url = None, ca_file: CaFile = None, insecure: Insecure = False
) -> None:
    """List engines and voices, and what each speaks."""
    engines = run(_engines(Target(url, ca_file=ca_file, insecure=insecure, quiet=as_json)))
    if as_json:
        facts = [dict(engine.facts) for engine in engines]
        emit(json.dumps({"engines": facts}, ensure_ascii=False))
        return
    table = Table(box=None, pad_edge=False)
    for title in ("voice", "engine", "task", "languages", "state", "about"):
        table.add_column(title)
    for engine in engines:
        for row in rows(engine):
            table.add_row(*map(escape, row))
    show(table, Text("* chosen when none is named", style="dim"))


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


async def _engines(target: Target) -> list[Engine]:
    async with target.client() as client:
        return await client.engines()
