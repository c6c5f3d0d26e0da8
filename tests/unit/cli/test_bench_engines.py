import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from legato.bench.engines import Reading
from legato.bench.page import BEGIN, END
from legato.cli.bench_engines import show_table, table_for_page
from legato.cli.commands import application
from legato.cli.exits import Exit


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def bench(*args: str) -> Result:
    return CliRunner().invoke(application(), ["bench", "engines", *args])


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--concurrency", "0"), "--concurrency: numbers from 1 to 256"),
        (("--concurrency", "1,x"), "--concurrency: numbers from 1 to 256"),
        (("--engine", "xyzzy"), "no engine is called xyzzy; there are "),
        (("--strict",), "engines is measured alone"),
        (("echo",), "engines is measured alone"),
        (("--docs", "none.md"), "none.md"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_the_run(
    args: tuple[str, ...], words: str
) -> None:
    result = bench(*args)
    assert result.exit_code != 0
    assert result.stdout == ""
    assert words in result.stderr


def test_options_of_engines_are_refused_elsewhere() -> None:
    result = CliRunner().invoke(application(), ["bench", "echo", "--engine", "hibari"])
    assert result.exit_code == Exit.USAGE
    assert "`legato bench engines`" in result.stderr


def test_the_list_names_engines_of_the_settings_but_no_tones() -> None:
    listed = bench("--list").stdout.splitlines()
    assert not any(line.startswith("tone") for line in listed)
    assert bench("--list", "--engine", "tone").stdout.splitlines() == [
        "tone (synthesize)",
        "tone (recognize)",
    ]


@pytest.mark.integration
def test_a_program_gets_a_list() -> None:
    asked = ("--quick", "--engine", "tone", "--concurrency", "1")
    config = Path("legato.toml")
    config.write_text('worker.engines = [{ kind = "synthesize", name = "tone", slots = 3 }]\n')
    rows = json.loads(bench(*asked, "--json").stdout)
    assert [(row["engine"], row["kind"], row["streams"]) for row in rows] == [
        ("tone", "synthesize", 1),
        ("tone", "recognize", 1),
    ]
    assert rows[0]["slots"] == 3
    assert "load " in rows[0]["machine"]


def test_a_person_gets_a_table_and_who_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    whole = Reading(engine="lark", kind="synthesize", device="cpu", streams=1, wait_p95=0.5)
    show_table([whole, Reading(engine="wren", kind="recognize", note="gone")], "two cores")
    shown = capsys.readouterr().out
    assert "wait p95" in shown
    assert "500 ms" in shown
    assert "on two cores, " in shown
    assert "wren: gone" in shown


def test_a_page_names_the_command_that_makes_its_table_again() -> None:
    reading = Reading(engine="lark", kind="synthesize", note="gone")
    page = table_for_page([reading], ["lark", "wren"], "1,64", "m")
    assert page.startswith("`legato bench engines --engine lark --engine wren --concurrency 1,64`")
    assert table_for_page([reading], None, "1,2,4,8", "m").startswith("`legato bench engines`, ")


def test_a_page_without_markers_is_refused_before_the_run() -> None:
    page = Path("page.md")
    page.write_text("no place\n")
    assert bench("--docs", "page.md").exit_code == Exit.USAGE
    page.write_text(f"{BEGIN}\n{END}\n")
    assert "give no NAME and no --quick" in bench("--docs", "page.md", "--quick").stderr
