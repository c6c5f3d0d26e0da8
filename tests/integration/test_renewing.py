"""A server whose engines are loaded anew by a signal, with the settings as they are then."""

import os
import signal
import sys
import wave
from pathlib import Path

import pytest

from legato.audio import AudioFormat
from tests.integration.processes import Process, run_legato
from tests.unit.worker.test_synthesis import spoken

pytestmark = pytest.mark.integration

SETTINGS = """
[worker]
synthesizers = ["heavy"]

[[worker.engines]]
kind = "synthesize"
name = "heavy"
target = "tests.integration.heavy_engines:Heavy"
options = {{ shift = {shift} }}
"""


def said(place: Path, url: str) -> bytes:
    done = run_legato("say", "abc", "-o", "x.wav", "--url", url, cwd=place)
    assert done.returncode == 0, done.stderr
    with wave.open(str(place / "x.wav")) as file:
        return bytes(file.readframes(file.getnframes()))


def test_a_signal_has_the_engines_loaded_anew_and_wrong_settings_change_nothing(
    place: Path,
) -> None:
    settings = place / "legato.toml"
    settings.write_text(SETTINGS.format(shift=0))
    path = os.pathsep.join(part for part in sys.path if part)
    args = ("serve", "--port", "0", "--log-level", "info")
    with Process(args, cwd=place, env={"PYTHONPATH": path}) as server:
        url = server.wait_for("listening on").split("listening on ")[1].split(",")[0]
        server.wait_for("ready after")
        assert said(place, url) == spoken("abc", AudioFormat(24_000))
        settings.write_text(SETTINGS.format(shift=1))
        os.kill(server.pid, signal.SIGUSR1)
        server.wait_for("engine is renewed")
        assert said(place, url) == spoken("bcd", AudioFormat(24_000))
        settings.write_text("[worker]\nengine = 1\n")
        os.kill(server.pid, signal.SIGUSR1)
        server.wait_for("worker.engine is not a setting")
        settings.unlink()
        assert said(place, url) == spoken("bcd", AudioFormat(24_000))
