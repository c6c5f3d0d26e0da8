"""The programs that the page shows for what is set: each runs, and does what the page does."""

import json
import shutil
import subprocess
import sys
import wave
from pathlib import Path

import pytest

from tests.browser.conftest import SPOKEN
from tests.browser.test_listening import word_errors
from tests.browser.visit import Visit
from tests.integration.processes import environment

pytestmark = [pytest.mark.integration, pytest.mark.requires("chromium")]

SHORT = "She said: \"Yes, it's 5 o'clock.\""
TIMEOUT = 60.0


def shown(visit: Visit, language: str) -> str:
    """The program of `language` for what is set."""
    if not visit.page.get_by_role("region", name="Code", exact=True).is_visible():
        visit.button("Code").click()
    visit.button(language).click()
    return visit.page.get_by_role("region", name="Code", exact=True).locator("pre").inner_text()


def run(*command: str, cwd: Path) -> str:
    done = subprocess.run(
        command, cwd=cwd, env=environment(), capture_output=True, text=True, timeout=TIMEOUT
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_javascript(program: str, cwd: Path) -> str:
    """In Node; before 22 it has WebSocket behind a flag."""
    (cwd / "program.mjs").write_text(program, encoding="utf-8")
    return run("node", "--experimental-websocket", "--no-warnings", "program.mjs", cwd=cwd)


@pytest.fixture
def place(tmp_path: Path, spoken: Path) -> Path:
    """A folder with the file that the programs listen to."""
    shutil.copy(spoken, tmp_path / "speech.wav")
    return tmp_path


@pytest.mark.parametrize("settings", ["", "speed=1.5&voice=heart&streaming=off", "pace=20"])
def test_python_speaks(visit: Visit, tmp_path: Path, settings: str) -> None:
    visit.open(f"#/speak?{settings}")
    visit.type(SHORT)

    run(sys.executable, "-c", shown(visit, "Python"), cwd=tmp_path)

    with wave.open(str(tmp_path / "speech.wav")) as file:
        assert 0.5 < file.getnframes() / file.getframerate() < 6.0


@pytest.mark.requires("node")
@pytest.mark.parametrize("settings", ["", "speed=1.5&voice=heart&streaming=off", "pace=20"])
def test_javascript_speaks(visit: Visit, tmp_path: Path, settings: str) -> None:
    visit.open(f"#/speak?{settings}")
    visit.type(SHORT)

    told = run_javascript(shown(visit, "JavaScript"), tmp_path).splitlines()

    assert 0.5 < float(told[-1].removesuffix(" s of audio")) < 6.0
    assert json.loads(told[-2])["type"] == "stream_end"


def test_python_listens(visit: Visit, place: Path) -> None:
    visit.open("#/listen?frame=200")

    told = run(sys.executable, "-c", shown(visit, "Python"), cwd=place).splitlines()

    finals = [line.removeprefix("final  ") for line in told if line.startswith("final")]
    assert word_errors(SPOKEN, " ".join(finals)) <= 1


@pytest.mark.requires("node")
def test_javascript_listens(visit: Visit, place: Path) -> None:
    visit.open("#/listen")

    told = [
        json.loads(line) for line in run_javascript(shown(visit, "JavaScript"), place).splitlines()
    ]

    finals = [one["text"] for one in told if one["type"] == "transcript" and one["kind"] == "final"]
    assert word_errors(SPOKEN, " ".join(finals)) <= 1


@pytest.mark.parametrize("page", ["speak", "listen", "operations"])
def test_curl_asks_what_can_be_asked(visit: Visit, tmp_path: Path, page: str) -> None:
    visit.open(f"#/{page}")
    program = shown(visit, "curl")

    told = run("bash", "-euc", program, cwd=tmp_path)

    assert '"name":"heart"' in told.replace(": ", ":")
    assert '"gateways"' in told
