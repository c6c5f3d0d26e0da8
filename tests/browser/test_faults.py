"""What goes wrong is said in a sentence with the way out, and what was typed is kept."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Playwright, WebSocketRoute

from tests.browser.chromium import STRANGER, chromium
from tests.browser.conftest import Visitor, http
from tests.browser.visit import Visit, context
from tests.integration.processes import TONES, Server, running_server

pytestmark = [pytest.mark.integration, pytest.mark.requires("chromium")]

TYPED = "What I have typed."

REFUSALS = {
    "overloaded": "The server has no room for another stream now. Wait a moment",
    "rate_limited": "More was sent than the server allows. Wait a moment",
    "slow_consumer": "This page read too slowly. Close other heavy tabs",
    "unsupported_text": "No engine here can speak some of these characters. Remove them",
    "engine_unavailable": "On the server, legato doctor says what to install.",
    "engine_failed": "The engine failed at this. Try again, or choose another engine.",
    "engine_timeout": "The engine took too long. Try again.",
    "resume_gap": "A part of the stream is kept by neither side any more. Start again.",
    "forbidden": "The key does not allow this. Ask who runs the server.",
    "bus_unavailable": "Whoever runs it should look at Redis.",
    "internal": "The server has a fault; its log says more. Try again.",
    "something_new": "Something failed: because it is so",
}
"""What a server may answer that cannot be had from a healthy one."""


KEPT_SILENT = """
window.AudioContext = class extends AudioContext {
  constructor(options) { super(options); super.suspend(); }
  resume() { return window.isAllowed ? super.resume() : new Promise(() => {}); }
};
"""
"""Sound as browsers keep it that want a click first; a headless one never does."""

OBSTACLES = {
    "Another program holds the microphone. Close it there": """
      navigator.mediaDevices.getUserMedia = async () => {
        throw new DOMException("in use", "NotReadableError");
      };""",
    "This browser has no AudioWorklet. Use a current Chrome": "delete window.AudioWorklet;",
}


def refuse(line: WebSocketRoute, refusals: Iterator[str]) -> None:
    """Answer each new stream with the next refusal, in place of the server."""
    server = line.connect_to_server()
    refused = set()

    def pass_on(data: str | bytes) -> None:
        message = json.loads(data) if isinstance(data, str) else {}
        number = message.get("stream")
        if message.get("type") == "stream_start":
            refused.add(number)
            error = {"type": "error", "stream": number, "code": next(refusals), "retry_after": 3}
            line.send(json.dumps({**error, "message": "because it is so"}))
        elif number not in refused:
            server.send(data)

    line.on_message(pass_on)


def is_kept(visit: Visit, text: str = TYPED) -> bool:
    return visit.page.get_by_label("Text to speak").input_value() == text


def test_a_voice_that_is_not_there_is_named(visit: Visit) -> None:
    visit.open("#/speak?voice=nobody")
    visit.type(TYPED)

    visit.button("Speak").click()

    visit.alert("This server does not have that voice. Choose another one. Your text is kept.")
    visit.says("Refused.")
    assert is_kept(visit)


def test_an_engine_that_is_not_there_is_named(visit: Visit) -> None:
    visit.open("#/speak?engine=nothing")
    visit.type(TYPED)

    visit.button("Speak").click()

    visit.alert("This server does not have that engine. Choose another one, or automatic.")
    assert is_kept(visit)


def test_an_empty_box_asks_for_words(visit: Visit) -> None:
    visit.open()
    visit.type("  ")

    visit.button("Speak").click()

    visit.alert("Type something to speak first.")


def test_a_text_without_words_is_not_said_to_be_spoken(visit: Visit) -> None:
    visit.open()
    visit.type("🙂")

    visit.button("Speak").click()

    visit.says("There was nothing to say in this text.")


def test_text_beyond_the_bound_is_to_be_spoken_in_parts(visit: Visit) -> None:
    visit.open()
    text = "word " * 4_001
    visit.type(text)

    visit.button("Speak").click()

    visit.alert("The text is longer than the server takes at once. Speak it in parts.")
    assert is_kept(visit, text)


def test_each_refusal_has_its_sentence(visit: Visit) -> None:
    codes = iter(REFUSALS)
    visit.page.route_web_socket("**/v1/stream", lambda line: refuse(line, codes))
    visit.open()
    visit.type(TYPED)

    for code, sentence in REFUSALS.items():
        visit.button("Speak").click()
        visit.alert(sentence)
        visit.alert("Your text is kept. Try again in 3 s.")
        visit.alert(f"code {code}")
        assert is_kept(visit)


def test_a_file_that_is_no_audio_is_refused(visit: Visit, tmp_path: Path) -> None:
    letter = tmp_path / "letter.wav"
    letter.write_text("Dear listener,")
    visit.open("#/listen?source=file")
    visit.page.get_by_label("Choose a file").set_input_files(letter)

    visit.button("Send").click()

    visit.alert("This file cannot be read as audio.")


def test_a_blocked_microphone_says_where_to_allow_it(visitor: Visitor, voices: Server) -> None:
    visit = visitor(voices, permissions=[])
    visit.open("#/listen")

    visit.button("Listen").click()

    visit.alert("The microphone is blocked for this page. Allow it in the address bar's site")


def test_a_computer_without_microphone_is_told_of_files(
    playwright: Playwright, voices: Server
) -> None:
    with chromium(playwright) as browser, context(browser) as user:
        visit = Visit(user.new_page(), http(voices.url))
        visit.open("#/listen")

        visit.button("Listen").click()

        visit.alert("No microphone was found. Plug one in, or use a file or the sample.")


@pytest.mark.parametrize("sentence", OBSTACLES)
def test_what_keeps_the_microphone_back_is_named(
    visitor: Visitor, voices: Server, sentence: str
) -> None:
    visit = visitor(voices, script=OBSTACLES[sentence])
    visit.open("#/listen")

    visit.button("Listen").click()

    visit.alert(sentence)


def test_sound_that_is_kept_off_is_turned_on_by_a_click(visitor: Visitor, voices: Server) -> None:
    visit = visitor(voices, script=KEPT_SILENT)
    visit.open()
    visit.type(TYPED)

    visit.button("Speak").click()
    visit.alert("The browser keeps sound off until you ask for it.")
    assert is_kept(visit)
    visit.page.evaluate("window.isAllowed = true")
    visit.button("Turn sound on").click()

    visit.says("Said. Everything was delivered.")
    visit.says("both ends have the same digest.")


def test_an_insecure_page_says_how_to_open_it(visitor: Visitor, voices: Server) -> None:
    visit = visitor(voices, permissions=[])
    visit.url = f"http://{STRANGER}:{urlsplit(voices.url).port}"
    visit.page.goto(f"{visit.url}/#/speak")
    visit.type(TYPED)

    visit.button("Speak").click()

    visit.alert("Open this page as http://localhost, through ssh -L, or over https.")
    assert is_kept(visit)
    visit.page.get_by_role("link", name="Listen").click()
    visit.button("Listen").click()
    visit.alert("Open this page as http://localhost, through ssh -L, or over https.")


@pytest.fixture
def mortal(tmp_path: Path) -> Iterator[Server]:
    """A server that may be killed."""
    with running_server(cwd=tmp_path, env=TONES) as server:
        yield server


def kill(server: Server) -> None:
    os.killpg(server.process.pid, signal.SIGKILL)
    server.process.process.wait()


def test_a_server_that_is_gone_leaves_the_text(visitor: Visitor, mortal: Server) -> None:
    visit = visitor(mortal)
    visit.open()
    visit.type(TYPED)
    kill(mortal)
    visit.says("not connected")

    visit.button("Speak").click()

    visit.alert("The connection broke and no other was found. Check that the server runs")
    assert is_kept(visit)


def test_a_server_that_dies_while_it_speaks_is_waited_for(
    visitor: Visitor, mortal: Server, tmp_path: Path
) -> None:
    visit = visitor(mortal)
    visit.open("#/speak?pace=6")
    visit.type("Words that come one by one, as if a model wrote them. " * 2)
    visit.button("Speak").click()
    visit.says("Speaking.")

    kill(mortal)

    visit.says("Cut. Looking for another connection; what was sent is kept.")
    port = str(urlsplit(mortal.url).port)
    with running_server("--port", port, cwd=tmp_path, env=TONES):
        visit.says("both ends have the same digest.")
