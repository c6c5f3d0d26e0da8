import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.checkout import name, python_files

NOQA = re.compile(r"#\s*(ruff:\s*|flake8:\s*)?noqa\b(?P<rest>.*)", re.IGNORECASE)
IGNORE = re.compile(r"#\s*type:\s*ignore\b(?P<rest>.*)")
# Rule names, then a reason: `noqa: S311  jitter is no secret`.
NOQA_REST = re.compile(r":\s*[A-Z]+[0-9]+(,\s*[A-Z]+[0-9]+)*(?P<reason>.*)")
IGNORE_REST = re.compile(r"\[[a-z-]+(,\s*[a-z-]+)*\](?P<reason>.*)")
LETTER = re.compile(r"\w{2}")


def comments(source: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def faults(source: str) -> list[str]:
    """Suppressions that do not say which rule they break, or why."""
    found = []
    for line, comment in comments(source):
        for marker, form in ((NOQA, NOQA_REST), (IGNORE, IGNORE_REST)):
            if match := marker.search(comment):
                rest = form.match(match["rest"])
                if rest is None:
                    found.append(f"line {line}: names no rule: {comment}")
                elif not LETTER.search(rest["reason"]):
                    found.append(f"line {line}: gives no reason: {comment}")
    return found


@pytest.mark.parametrize("path", python_files(), ids=name)
def test_a_suppression_names_its_rule_and_reason(path: Path) -> None:
    assert faults(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa",
        "# NOQA: because",
        "# noqa: S311",
        "# type: ignore",
        "# type: ignore[arg-type]",
        "# type: ignore  # it is fine",
    ],
)
def test_a_bare_suppression_is_seen(comment: str) -> None:
    assert faults(f"x = 1  {comment}\n")


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa: S311  jitter is no secret",
        "# noqa: S311, BLE001 - top of the task",
        "# type: ignore[arg-type]  # the stub is older than the library",
        "# a comment about anything else",
    ],
)
def test_an_explained_suppression_passes(comment: str) -> None:
    assert faults(f"x = 1  {comment}\n") == []
