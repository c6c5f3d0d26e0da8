"""`legato config show`: what is in force, and where it comes from."""

from __future__ import annotations

import json

from rich.markup import escape
from rich.table import Table

from legato.cli import pipes
from legato.cli.options import ConfigFile, Json


def show(as_json: Json = False, config: ConfigFile = None) -> None:
    """Print every setting in force and where it comes from; secrets are masked."""
    from legato.settings import load  # slow to import

    settings = load(file=config).in_force
    if as_json:
        rows = {
            setting.name: {"value": setting.plain, "origin": setting.origin} for setting in settings
        }
        pipes.emit(json.dumps(rows, ensure_ascii=False))
        return
    table = Table(box=None, pad_edge=False)
    for title in ("setting", "value", "origin"):
        table.add_column(title, overflow="fold")
    for setting in settings:
        style = None if setting.origin != "default" else "dim"
        table.add_row(setting.name, escape(setting.shown), setting.origin, style=style)
    pipes.show(table)
