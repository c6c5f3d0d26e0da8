from pathlib import Path

import pytest
from typer.testing import CliRunner

from legato.cli.commands import application
from legato.cli.exits import Exit
from legato.cli.own_voices import own_rows
from legato.client.own_voices import OwnVoice

runner = CliRunner()
NOWHERE = ("--url", "ws://127.0.0.1:1")


@pytest.mark.parametrize(
    ("args", "code", "exit_"),
    [
        (("add", "anna", "a.wav"), "bad_usage", Exit.USAGE),
        (("add", "anna", "missing.wav", "--consent"), "bad_audio", Exit.BAD_INPUT),
        (("add", "anna", "a.wav", "--consent"), "connection_lost", Exit.UNREACHABLE),
        (("remove", "anna"), "connection_lost", Exit.UNREACHABLE),
    ],
)
def test_a_failure_is_one_sentence(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    args: tuple[str, ...],
    code: str,
    exit_: int,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.wav").write_bytes(b"RIFF")
    told = runner.invoke(application(), ["voices", *args, *NOWHERE])
    assert (told.exit_code, told.stdout) == (exit_, "")
    assert told.stderr.startswith(f"legato: {code}: ")


def test_without_consent_nothing_is_sent_and_the_option_is_named(tmp_path: Path) -> None:
    told = runner.invoke(application(), ["voices", "add", "anna", str(tmp_path / "a.wav")])
    assert "add --consent if the speaker" in told.stderr


def test_own_voices_are_lines_of_the_table() -> None:
    usable = OwnVoice(
        name="anna",
        languages=("zh", "en"),
        gender="female",
        seconds=8.04,
        usable=True,
        engine="cosyvoice",
    )
    assert own_rows([usable, OwnVoice(name="bob", seconds=3.0)]) == [
        ("anna", "cosyvoice", "synthesize", "zh en", "own", "8.0 s, female, can be spoken with"),
        (
            "bob",
            "-",
            "synthesize",
            "any",
            "own",
            "3.0 s, no engine here can speak with it (docs/voices.md)",
        ),
    ]
