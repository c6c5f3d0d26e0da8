"""One server, one browser and one microphone for all tests of the console."""

import wave
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Playwright, expect, sync_playwright

from tests.browser.chromium import chromium, fake_microphone
from tests.browser.visit import WAIT, Visit, context
from tests.integration.processes import Server, run_legato, running_server

SPOKEN = "The harbour was quiet that morning, and only a few gulls were awake."
SILENCE = 20.0
"""Seconds after the sentence in the microphone, so that it is heard once."""

Visitor = Callable[..., Visit]

expect.set_options(timeout=WAIT)


@pytest.fixture(scope="package")
def voices(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with the default engines; shared, so leave it as it is."""
    with running_server(cwd=tmp_path_factory.mktemp("console")) as server:
        yield server


@pytest.fixture(scope="package")
def spoken(voices: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`SPOKEN` in the server's own voice, 24 kHz."""
    path = tmp_path_factory.mktemp("spoken") / "spoken.wav"
    said = run_legato("say", SPOKEN, "-o", str(path), "--url", voices.url, cwd=path.parent)
    assert said.returncode == 0, said.stderr.decode()
    return path


@pytest.fixture(scope="package")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="package")
def browser(playwright: Playwright, spoken: Path) -> Iterator[Browser]:
    """Shared; its microphone says `SPOKEN`."""
    microphone = spoken.with_name("microphone.wav")
    with wave.open(str(spoken)) as file, wave.open(str(microphone), "wb") as made:
        made.setparams(file.getparams())
        made.writeframes(bytes(file.getframerate()))  # half a second
        made.writeframes(file.readframes(file.getnframes()))
        made.writeframes(bytes(int(SILENCE * file.getframerate()) * 2))
    with chromium(playwright, *fake_microphone(microphone)) as browser:
        yield browser


def http(url: str) -> str:
    return url.replace("ws", "http", 1)


@pytest.fixture
def visitor(browser: Browser) -> Iterator[Visitor]:
    """Makes users with a page each, which is not opened yet."""
    with ExitStack() as stack:

        def visit(server: Server, *, script: str = "", **options: Any) -> Visit:
            user = stack.enter_context(context(browser, **options))
            if script:
                user.add_init_script(script)
            return Visit(user.new_page(), http(server.url))

        yield visit


@pytest.fixture
def visit(visitor: Visitor, voices: Server) -> Visit:
    """A user of the shared server."""
    return visitor(voices)
