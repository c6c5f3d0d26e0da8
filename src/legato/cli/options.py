"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def is_text(argument: str) -> bool:
    """Whether an argument was UTF-8; bytes that are not come as lone surrogates (PEP 383)."""
    return not any("\ud800" <= character <= "\udfff" for character in argument)


def as_text(value: str | None) -> str | None:
    """Check the value of an option that goes to a server.

    Raises:
        typer.BadParameter: If it was not UTF-8.
    """
    if value is not None and not is_text(value):
        raise typer.BadParameter("it is not UTF-8")
    return value


Url = Annotated[
    str | None,
    typer.Option(
        "--url",
        callback=as_text,
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
Engine = Annotated[str | None, typer.Option(callback=as_text, help="Engine, if not the default.")]
Language = Annotated[
    str | None, typer.Option(callback=as_text, help="Language tag, such as en or zh.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object for programs.")]
ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", help="Settings file; legato.toml of this folder is read by itself."),
]
