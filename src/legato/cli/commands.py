"""Puts every command on the application.

A command is one module with one function; what it needs beyond the base is imported inside it.
"""

from __future__ import annotations

from typing import Annotated, Final

import typer

import legato
from legato.cli.bench import bench
from legato.cli.config import config_app
from legato.cli.doctor import doctor
from legato.cli.exits import plainly
from legato.cli.listen import listen
from legato.cli.say import say
from legato.cli.serve import gateway, serve, worker
from legato.cli.voices import voices

COMMANDS: Final = (serve, gateway, worker, say, listen, voices, doctor, bench)
"""In the order of `legato --help`."""

GROUPS: Final = {"config": config_app}
"""Commands with commands of their own."""


def application() -> typer.Typer:
    """Return the whole command line."""
    app = typer.Typer(
        name="legato",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(root)
    for command in COMMANDS:
        app.command()(plainly(command))
    for name, group in GROUPS.items():
        app.add_typer(group, name=name)
    return app


def _show(shown: bool) -> None:
    if shown:
        typer.echo(f"legato {legato.__version__}")
        raise typer.Exit


def root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Real-time speech streaming: text in, audio out; audio in, text out."""
