"""Where the packages of engines lie, found without importing them, and how to add them."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
from pathlib import Path
from typing import Final, Literal

from legato.errors import EngineUnavailable

DISTRIBUTION: Final = "legato-speech"
"""Name of this project on the package index."""


def add_command(*extras: str) -> str:
    """Return the line that installs extras of this project, from where it was installed itself.

    That is the package index, or the checkout that pip noted in direct_url.json (PEP 610); the line
    is then to be typed there, and keeps an editable installation editable.
    """
    wanted = f"[{','.join(extras)}]" if extras else ""
    match _source():
        case "checkout":
            return f'pip install ".{wanted}" (in the checkout)'
        case "editable":
            return f'pip install -e ".{wanted}" (in the checkout)'
        case _:
            return f'pip install "{DISTRIBUTION}{wanted}"'


def is_checkout() -> bool:
    """Whether this project was installed from a checkout, where `make` works too."""
    return _source() != "index"


def _source() -> Literal["index", "checkout", "editable"]:
    try:
        noted = importlib.metadata.distribution(DISTRIBUTION).read_text("direct_url.json")
    except importlib.metadata.PackageNotFoundError:
        noted = None
    origin = json.loads(noted or "{}")
    if "dir_info" not in origin:
        return "index"
    return "editable" if origin["dir_info"].get("editable") else "checkout"


def require(package: str, *, extra: str) -> None:
    """Check that a top-level package is installed, without importing it.

    Raises:
        EngineUnavailable: If it is missing; names the line that adds it.
    """
    if importlib.util.find_spec(package) is None:
        raise EngineUnavailable(f"{package} is not installed; add it with {add_command(extra)}")


def package_file(package: str, *parts: str, extra: str) -> Path:
    """Return the path of a file that a package brings, without importing the package.

    Raises:
        EngineUnavailable: If the package or the file is missing; names the line that adds it.
    """
    require(package, extra=extra)
    spec = importlib.util.find_spec(package)
    folders = list(spec.submodule_search_locations or ()) if spec else []
    for folder in folders:
        path = Path(folder, *parts)
        if path.is_file():
            return path
    raise EngineUnavailable(
        f"the installed {package} has no {'/'.join(parts)};"
        f" put the right version in place with {add_command(extra)}"
    )


def version(distribution: str) -> str:
    """Return the version of an installed distribution, "" where it is not installed."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return ""
