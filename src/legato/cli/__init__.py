"""The command line: one file for each command."""

from __future__ import annotations

from legato.cli.entry import catch_early, hold_places


def main() -> None:
    """Run the command line."""
    hold_places()
    catch_early()
    from legato.cli.commands import application  # slow to import

    application()()
