"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Url = Annotated[
    str | None,
    typer.Option(
        "--url",
        help="Server to use, ws:// or wss://. Without it: one on the default port of this machine,"
        " else one that is started for this command.",
        show_default=False,
    ),
]
CaFile = Annotated[
    Path | None,
    typer.Option(
        "--ca-file", help="PEM file of the authority that signed the server's certificate."
    ),
]
Insecure = Annotated[
    bool,
    typer.Option(
        "--insecure", help="For tests only: accept any certificate; anybody could listen."
    ),
]
Engine = Annotated[str | None, typer.Option(help="Engine, if not the default.")]
Language = Annotated[str | None, typer.Option(help="Language tag, such as en or zh.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object for programs.")]
ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", help="Settings file; legato.toml of this folder is read by itself."),
]
