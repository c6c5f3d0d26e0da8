import asyncio
import sys
from pathlib import Path

import pytest

from legato.bench import rivals
from legato.bench.benchmark import Setup
from legato.bench.catalog import chosen

NOWHERE = Path("no-such-python")


@pytest.mark.parametrize("python", [None, NOWHERE], ids=["unset", "not there"])
@pytest.mark.parametrize(
    ("name", "who"), [("articles", "the articles' stack"), ("pipecat", "pipecat")]
)
async def test_a_peer_that_is_not_installed_is_skipped_by_name(
    name: str, who: str, python: Path | None
) -> None:
    (benchmark,) = chosen([name])
    rows = await benchmark.run(Setup(quick=True, pipecat=python, tell=lambda _: None))
    assert [row.name for row in rows] == [figure.name for figure in benchmark.figures]
    assert {row.value for row in rows} == {None}
    assert all(row.note.startswith(who) and "is not installed" in row.note for row in rows)


async def test_outside_a_checkout_they_are_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (benchmark,) = chosen(["websockets"])
    rows = await benchmark.run(Setup(quick=True, tell=lambda _: None))
    assert {row.note for row in rows} == {rivals.NO_CHECKOUT}


async def test_a_python_is_taken_if_it_has_the_modules_and_by_its_own_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    await asyncio.to_thread(Path("python").symlink_to, sys.executable)
    assert await rivals.with_modules(Path("python"), "json") == str(tmp_path / "python")
    assert await rivals.with_modules(Path("python"), "no_such_module") is None


def test_the_levels_of_the_articles_are_rows_without_a_bound() -> None:
    (benchmark,) = chosen(["articles"])
    assert [figure.name for figure in benchmark.figures[::3]] == [
        "articles.50.p99",
        "articles.125.p99",
        "articles.200.p99",
        "articles.400.p99",
    ]
    assert {figure.bound for figure in benchmark.figures} == {None}
