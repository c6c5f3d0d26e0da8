"""Puts every command on the application.

A command is one module with one function; what it needs beyond the base is imported inside it.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

import legato
from legato.cli.bench import bench
from legato.cli.config import show
from legato.cli.doctor import doctor
from legato.cli.exits import plainly, telling
from legato.cli.forget import forget
from legato.cli.listen import listen
from legato.cli.models import list_, pull, remove, verify
from legato.cli.own_voices import add, remove_
from legato.cli.pipes import emit, writing
from legato.cli.say import say
from legato.cli.serve import gateway, serve, worker
from legato.cli.status import status
from legato.cli.voices import voices

COMMANDS: Final = (serve, gateway, worker, say, listen, status, forget, doctor, bench)
"""In the order of `legato --help`."""

GROUPS: Final = {
    "config": ("Settings.", (show,)),
    "models": ("Weights of engines.", (list_, pull, verify, remove)),
}
"""Commands with commands of their own: what they are about, and these."""

LISTS: Final = {"voices": (voices, (add, remove_))}
"""Commands that do something by themselves, and have commands of their own besides."""


class _Group(TyperGroup):
    """Commands; its `--help` and `--version` fail as plainly as they do."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Read the arguments; `--help` prints here."""
        with telling(), writing():
            return super().make_context(*args, **kwargs)


class _Command(TyperCommand):
    """One command; see `_Group`."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Read the arguments; `--help` prints here."""
        with telling(), writing():
            return super().make_context(*args, **kwargs)


def application() -> typer.Typer:
    """Return the whole command line."""
    app = typer.Typer(
        name="legato",
        cls=_Group,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(root)
    for command in COMMANDS:
        app.command(cls=_Command)(plainly(command))
    for name, (about, commands) in GROUPS.items():
        group = typer.Typer(cls=_Group, help=about, no_args_is_help=True)
        group.callback()(_nothing)
        for one in commands:
            group.command(one.__name__.rstrip("_"), cls=_Command)(plainly(one))
        app.add_typer(group, name=name)
    for name, (itself, members) in LISTS.items():
        group = typer.Typer(cls=_Group)
        group.callback(invoke_without_command=True)(plainly(itself))
        for member in members:
            group.command(member.__name__.rstrip("_"), cls=_Command)(plainly(member))
        app.add_typer(group, name=name)
    return app


def _nothing() -> None:
    """Make a group of what has one command."""


def _show(shown: bool) -> None:
    if shown:
        emit(f"legato {legato.__version__}")
        raise typer.Exit


def root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Real-time speech streaming: text in, audio out; audio in, text out."""
