"""Debian's Chromium, with a microphone that plays a WAV file or with none."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Playwright

PROGRAM = "/usr/bin/chromium"
START_TIMEOUT = 20.0
STOP_TIMEOUT = 10.0
STRANGER = "speech.test"
"""A host name that leads to this machine, and that browsers do not trust."""

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    f"--host-resolver-rules=MAP {STRANGER} 127.0.0.1",
)


def fake_microphone(wav: Path) -> tuple[str, ...]:
    """Flags for a microphone that gives `wav` over and over, from its beginning at each opening."""
    return ("--use-fake-device-for-media-stream", f"--use-file-for-fake-audio-capture={wav}")


@contextmanager
def chromium(playwright: Playwright, *flags: str) -> Iterator[Browser]:
    """A browser for the length of the block."""
    browser = playwright.chromium.launch(executable_path=PROGRAM, args=[*FLAGS, *flags])
    try:
        yield browser
    finally:
        browser.close()


@contextmanager
def window(playwright: Playwright, profile: Path) -> Iterator[BrowserContext]:
    """A browser whose tabs hide each other, and are throttled then, as a user's do.

    Playwright's own pages never count as hidden.
    """
    command = [PROGRAM, "--headless", "--mute-audio", "--remote-debugging-port=0", *FLAGS]
    process = subprocess.Popen(
        [*command, f"--user-data-dir={profile}"], stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        port = _debugging_port(profile / "DevToolsActivePort")
        browser = playwright.chromium.connect_over_cdp(f"http://127.0.0.1:{port}", no_defaults=True)
        yield browser.contexts[0]
        browser.close()
    finally:
        process.terminate()
        process.wait(STOP_TIMEOUT)


def _debugging_port(told: Path) -> str:
    deadline = time.monotonic() + START_TIMEOUT
    while time.monotonic() < deadline:
        if told.exists() and (lines := told.read_text().splitlines()):
            return lines[0]
        time.sleep(0.05)
    raise AssertionError(f"{PROGRAM} does not start")
