import io

import pytest
import typer
from rich.console import Console

from legato.cli.progress import Progress

ERASE = "\x1b[2K"


def terminal() -> tuple[Console, io.StringIO]:
    screen = io.StringIO()
    return Console(file=screen, force_terminal=True, width=80, _environ={}), screen


def test_the_line_is_erased_before_anything_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    console, screen = terminal()
    with Progress("heard", shown=True, console=console) as progress:
        progress.show(1.5, "a [b] c")
        with progress.aside():
            typer.echo("Hello")
            assert screen.getvalue().endswith(ERASE)
        progress.show(2.0)

    assert capsys.readouterr().out == "Hello\n"
    assert screen.getvalue().endswith(ERASE)


def test_nothing_is_shown_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    console, screen = terminal()
    with Progress("heard", shown=False, console=console) as progress, progress.aside():
        progress.show(1.0)
        typer.echo("Hello")

    assert (capsys.readouterr().out, screen.getvalue()) == ("Hello\n", "")
