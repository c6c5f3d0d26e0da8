"""What the README and the page on Python tell a newcomer to type, typed."""

import re
import shutil
import subprocess
import sys
import wave
from pathlib import Path

import pytest

from tests.integration.processes import Server

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", ROOT / "docs" / "python.md")
README = PAGES[0].read_text(encoding="utf-8")
EXAMPLE = re.compile(r"<!-- example: (\w+) -->\n```python\n(.*?)```", re.DOTALL)
EXAMPLES = [found for page in PAGES for found in EXAMPLE.findall(page.read_text(encoding="utf-8"))]
CODE = dict(EXAMPLES)
CONNECT = re.compile(r"(legato\.connect(?:_sync)?\()(?=(\)?))")
COMMANDS = re.compile(r"^legato (say|listen) .*$", re.MULTILINE)

pytestmark = pytest.mark.integration


def typed(command: str, server: Server, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        f"{sys.executable} -m {command} --url {server.url}",
        shell=True,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.fixture(scope="module")
def spoken(voice_server: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file that the first command of the README makes."""
    folder = tmp_path_factory.mktemp("spoken")
    say = next(match[0] for match in COMMANDS.finditer(README) if match[1] == "say")
    done = typed(say, voice_server, folder)
    assert done.returncode == 0, done.stderr
    return folder / "hello.wav"


@pytest.fixture
def hello(place: Path, spoken: Path) -> Path:
    """That file in the working directory."""
    return Path(shutil.copy(spoken, place))


def addressed(code: str, server: Server) -> str:
    """An example that connects to `server` and not to the default address."""

    def with_url(found: re.Match[str]) -> str:
        return f"{found[1]}{server.url!r}{'' if found[2] else ', '}"

    return CONNECT.sub(with_url, code).replace("ws://127.0.0.1:8440", server.url)


def run(name: str, server: Server) -> str:
    command = [sys.executable, "-c", addressed(CODE[name], server)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_example_has_a_name_of_its_own() -> None:
    assert len(CODE) == len(EXAMPLES) > 3


def test_what_was_said_is_heard(hello: Path, voice_server: Server) -> None:
    done = typed("legato listen hello.wav", voice_server, hello.parent)
    assert done.stdout.strip() == "Hello there. This is a voice that does not break."


@pytest.mark.parametrize("name", ["speak", "save"])
def test_an_example_saves_what_was_spoken(place: Path, voice_server: Server, name: str) -> None:
    run(name, voice_server)
    with wave.open(str(place / "hello.wav")) as file:
        assert file.getframerate() == 24_000
        assert file.getnframes() > 24_000


def test_the_listen_example_ends_with_a_final(hello: Path, voice_server: Server) -> None:
    last = run("listen", voice_server).splitlines()[-1]
    assert last.startswith("final")
    assert "does not break" in last


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("raw", r"does not break"),
        ("hear", r"^\d\.\d to \d\.\d s: .*does not break"),
        ("tokens", r"^\d\.\d s of audio, intact: True$"),
        ("leave", r"^first audio after \d+ ms$"),
        ("dialogue", r"^cancelled done [12] s$"),
        ("voices", r"^heart hibari (.*\n)*synthesize hibari ready"),
        ("sync", r"^No loop, no tasks"),
        ("errors", r"^unknown_voice False None no engine has a voice 'nobody'"),
        ("playout", r"^\d{4,} samples, 0 underruns$"),
    ],
)
def test_an_example_says_what_it_is_there_for(
    hello: Path, voice_server: Server, name: str, says: str
) -> None:
    assert re.search(says, run(name, voice_server), re.MULTILINE)


def test_the_chinese_page_shows_the_same_examples() -> None:
    chinese = (ROOT / "README.zh.md").read_text(encoding="utf-8")
    shown = [code for _, code in EXAMPLE.findall(README)]
    assert all(code in chinese for code in shown)
