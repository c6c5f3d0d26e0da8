"""`python -m legato` is `legato`."""

from legato.cli import main

main()
