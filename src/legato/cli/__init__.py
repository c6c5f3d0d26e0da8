"""The command line: one file for each command."""

from __future__ import annotations


def main() -> None:
    """Run the command line.

    Raises:
        SystemExit: Always, with the exit code.
    """
    # Nothing may be imported above: Ctrl-C would meet it with a traceback.
    from legato.cli.entry import end_at_once, hold_places

    end_at_once()
    hold_places()
    from legato.cli.commands import application  # slow to import

    try:
        application()()
    finally:
        end_at_once()
