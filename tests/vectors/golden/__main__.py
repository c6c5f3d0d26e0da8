"""`python -m tests.vectors.golden`: record what this version writes, beside what others wrote.

Nothing that is recorded is ever changed or removed: somebody may have stored it.
"""

from __future__ import annotations

import sys

from tests.vectors.golden.record import PATH, additions, load, save


def main() -> None:
    """Add what is not there yet."""
    recorded = load()
    found = additions(recorded)
    save([*recorded, *found])
    sys.stdout.write(f"{len(found)} added to {len(recorded)} in {PATH.name}\n")


if __name__ == "__main__":
    main()
