"""The files of the checkout, as the tests of its architecture see them."""

import ast
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "legato"
PURE = ("audio", "errors", "flow", "protocol", "session", "speech")


@cache
def files() -> tuple[Path, ...]:
    """Every file that is tracked or would be, generated ones included."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        timeout=30,
    )
    paths = (ROOT / name for name in listed.stdout.decode().split("\0") if name)
    return tuple(path for path in paths if path.is_file())


@cache
def python_files(folder: Path = ROOT) -> tuple[Path, ...]:
    """Every Python file that a person wrote."""
    return tuple(
        path
        for path in files()
        if path.suffix == ".py" and not path.stem.endswith("_pb2") and path.is_relative_to(folder)
    )


def pure_files() -> list[Path]:
    """The Python files of the pure layers."""
    found = python_files(SOURCE)
    return [p for p in found if p.relative_to(SOURCE).parts[0].removesuffix(".py") in PURE]


@cache
def tree(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def name(path: Path) -> str:
    """A path as messages show it."""
    return path.relative_to(ROOT).as_posix()
