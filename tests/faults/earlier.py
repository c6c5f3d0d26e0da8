"""Legato as it was: a wheel of an earlier commit, unpacked, and its tests beside it."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Final

BASELINE: Final = "9945dad6ca1d0462ef27c5a1814546a6abf29a07"
"""The earliest commit that shares a Redis with this one. It moves only where that is given up."""

LABEL: Final = f"+{BASELINE[:7]}"
"""What its version ends with, so that a process tells which code it runs."""

IS_HERE: Final = (
    "git",
    "-C",
    str(Path(__file__).parents[2]),
    "cat-file",
    "-e",
    f"{BASELINE}^{{commit}}",
)
"""A command that succeeds where the commit can be had; a shallow clone may lack it."""

_PARTS: Final = ("pyproject.toml", "README.md", "LICENSE", "NOTICE", "src", "tests")
_VERSIONS: Final = {
    "pyproject.toml": r'(?m)^(version = "[^"]+)"',
    "src/legato/__init__.py": r'(?m)^(__version__ = "[^"]+)"',
}
_TIMEOUT: Final = 60.0


def unpack(place: Path) -> Path:
    """Build the wheel and return the folder from which Python runs it, ahead of this checkout.

    Args:
        place: An empty folder.

    Raises:
        subprocess.CalledProcessError: If git does not have the commit, or it cannot be built.
    """
    source, code = place / "source", place / "code"
    archive = _run("git", "-C", IS_HERE[2], "archive", BASELINE, *_PARTS)
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(source, filter="data")
    for name, version in _VERSIONS.items():
        _label(source / name, version)
    _run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place), cwd=source)
    (wheel,) = place.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(code)
    (source / "tests").rename(code / "tests")
    return code


def _label(path: Path, version: str) -> None:
    text, count = re.subn(version, rf'\g<1>{LABEL}"', path.read_text(encoding="utf-8"))
    if count != 1:
        raise ValueError(f"{path} has {count} versions, not one")
    path.write_text(text, encoding="utf-8")


def _run(*command: str, cwd: Path | None = None) -> bytes:
    done = subprocess.run(command, cwd=cwd, capture_output=True, check=True, timeout=_TIMEOUT)
    return done.stdout
