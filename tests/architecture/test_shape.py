import ast
import io
import tokenize
from pathlib import Path

import pytest

from tests.architecture.checkout import SOURCE, files, name, python_files, tree

MODULE_LINES = 400
CLASS_LINES = 250
FUNCTION_LINES = 40
DRAWERS = {"common", "helper", "helpers", "manager", "managers", "misc", "util", "utils"}

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def code_lines(path: Path) -> set[int]:
    """Numbers of the lines that hold code: neither empty, comment nor docstring."""
    source = path.read_text(encoding="utf-8")
    blank = {tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT}
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in blank:
            lines.update(range(token.start[0], token.end[0] + 1))
    return lines - docstring_lines(tree(path))


def docstring_lines(module: ast.Module) -> set[int]:
    lines: set[int] = set()
    for node in ast.walk(module):
        if isinstance(node, ast.Module | Definition) and ast.get_docstring(node) is not None:
            lines.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return lines


def long_ones(path: Path) -> list[str]:
    """Functions and classes over their bound."""
    code = code_lines(path)
    found = []
    for node in ast.walk(tree(path)):
        if isinstance(node, Definition):
            size = len(code & set(range(node.lineno, (node.end_lineno or node.lineno) + 1)))
            bound = CLASS_LINES if isinstance(node, ast.ClassDef) else FUNCTION_LINES
            if size > bound:
                found.append(f"{node.name} (line {node.lineno}): {size} lines of code > {bound}")
    return found


@pytest.mark.parametrize("path", python_files(SOURCE), ids=name)
def test_a_module_stays_small(path: Path) -> None:
    size = len(path.read_text(encoding="utf-8").splitlines())
    assert size <= MODULE_LINES


@pytest.mark.parametrize("path", python_files(SOURCE), ids=name)
def test_functions_and_classes_stay_small(path: Path) -> None:
    assert long_ones(path) == []


def test_a_function_over_the_bound_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "long.py"
    body = "    x = 1\n\n    # a comment\n" * FUNCTION_LINES
    path.write_text(f'def f():\n    """Doc."""\n{body}', encoding="utf-8")
    assert long_ones(path) == ["f (line 1): 41 lines of code > 40"]


def test_nothing_is_a_drawer() -> None:
    drawers = [name(p) for p in files() if DRAWERS & {part.lower() for part in parts_of(p)}]
    assert drawers == []


def parts_of(path: Path) -> list[str]:
    folders = Path(name(path)).with_suffix("").parts
    return [word for folder in folders for word in (folder, *folder.split("_"))]
