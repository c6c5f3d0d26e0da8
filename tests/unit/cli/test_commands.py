"""The commands in this process, as far as they go without a server."""

import re
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

import legato
from legato.cli.commands import application
from legato.cli.exits import Exit
from legato.cli.voices import aliases, rows
from legato.client.catalog import Engine
from legato.speech import Voice

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
NOWHERE = ("--url", "ws://127.0.0.1:1")

runner = CliRunner()


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_version_is_told() -> None:
    told = runner.invoke(application(), ["--version"])

    assert (told.exit_code, told.output) == (0, f"legato {legato.__version__}\n")


@pytest.mark.parametrize(
    ("args", "code", "exit_"),
    [
        (("say", " "), "unsupported_text", Exit.BAD_INPUT),
        (("say", "-"), "connection_lost", Exit.UNREACHABLE),
        (("say", "a", "-o", "-", "--json"), "bad_usage", Exit.USAGE),
        (("say", "a", "-o", "x.wav", "--rate", "1"), "unsupported_format", Exit.BAD_INPUT),
        (("say", "a", "-o", "no/such/x.wav"), "cannot_write", Exit.BAD_INPUT),
        (("say", "a", "-o", "x.wav"), "connection_lost", Exit.UNREACHABLE),
        (("listen",), "bad_usage", Exit.USAGE),
        (("listen", "x.wav", "--mic"), "bad_usage", Exit.USAGE),
        (("listen", "x.wav", "--srt", "--vtt"), "bad_usage", Exit.USAGE),
        (("listen", "x.wav"), "connection_lost", Exit.UNREACHABLE),
        (("voices",), "connection_lost", Exit.UNREACHABLE),
        (("voices", "--ca-file", "missing.pem", "--url", "wss://[::1]:1"), "bad_usage", Exit.USAGE),
        (("voices", "--ca-file", "missing.pem"), "bad_usage", Exit.USAGE),
        (("voices", "--url", "foo"), "bad_usage", Exit.USAGE),
        (("say", "a", "-o", "x.aac"), "bad_usage", Exit.USAGE),
    ],
)
def test_a_failure_is_one_sentence(
    place: Path, args: tuple[str, ...], code: str, exit_: int
) -> None:
    told = runner.invoke(application(), [args[0], *NOWHERE, *args[1:]])

    assert (told.exit_code, told.stdout) == (exit_, "")
    assert told.stderr.startswith(f"legato: {code}: ")
    assert told.stderr.count("\n") == 1
    assert list(place.iterdir()) == []


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--port", "70000"), "gateway.port"),
        (("--processes", "2"), "--bus"),
        (("--bus", "pigeon:"), "memory:"),
        (("--log-level", "loud"), "log.level"),
        (("--config", "missing.toml"), "missing.toml"),
    ],
)
def test_serve_refuses_settings_that_cannot_be(args: tuple[str, ...], words: str) -> None:
    told = runner.invoke(application(), ["serve", *args])

    assert told.exit_code == Exit.USAGE
    assert told.stderr.startswith("legato: bad_settings: ")
    assert words in told.stderr


@pytest.mark.parametrize("args", [("nonsense",), ("say",), ("say", "a", "--speed", "9")])
def test_what_is_no_command_is_a_usage_error(args: tuple[str, ...]) -> None:
    assert runner.invoke(application(), list(args)).exit_code == Exit.USAGE


@pytest.mark.parametrize(
    ("command", "words"), [("serve", "[default: 127.0.0.1]"), ("bench", "[default: .bench-venv")]
)
def test_the_help_keeps_what_is_in_brackets(command: str, words: str) -> None:
    told = runner.invoke(application(), [command, "--help"])

    assert words in " ".join(told.output.split())


def test_the_doctor_names_the_extras() -> None:
    told = runner.invoke(application(), ["doctor"])

    assert "ok  [server] " in told.output


def test_an_engine_has_a_line_for_each_voice() -> None:
    voices = (Voice(name="low", engine="e"), Voice(name="high", engine="e", languages=()))
    spoken = Engine(kind="synthesize", name="e", state="ready", default=True, voices=voices)
    heard = Engine(kind="recognize", name="r", state="unavailable", reason="pip install it")

    assert [row[0] for row in rows(spoken)] == ["low", "high"]
    assert rows(spoken)[0][4] == "ready*"
    assert rows(spoken)[1][3] == "any"
    gone = Engine(kind="synthesize", name="g", state="unavailable", reason="pip [g]", voices=voices)
    assert rows(gone) == [("-", "g", "synthesize", "any", "unavailable", "pip [g]")]
    assert rows(heard) == [("-", "r", "recognize", "any", "unavailable", "pip install it")]


def test_a_voice_is_listed_with_the_names_it_answers_to() -> None:
    voices = [{"name": "heart", "aliases": ["alloy", "nova"]}, {"name": "other"}]
    engine = Engine(kind="synthesize", name="hibari", facts={"voices": voices})

    assert aliases([engine, Engine(kind="recognize", name="moonshine")]) == [
        ("heart (hibari)", "alloy nova")
    ]


def test_the_page_names_every_command_and_option() -> None:
    command = get_command(application())
    lacking = []
    for name, one in command.commands.items():  # type: ignore[attr-defined]  # a group has them
        if name == "bench":
            continue  # it has a page of its own
        options = {text for parameter in one.params for text in parameter.opts}
        options -= {"--listen-fd"}  # of gateway processes, which no user starts
        lacking += [o for o in options if o.startswith("--") and f"`{o}`" not in PAGE]
        lacking += [name] * (f"legato {name}" not in PAGE)

    assert lacking == []


def test_the_page_has_every_exit_code() -> None:
    told = dict(re.findall(r"^\| (\d+) \| `(\w+)` \|", PAGE, re.MULTILINE))

    assert {int(number): name for number, name in told.items()} == {
        code.value: code.name for code in Exit
    }
