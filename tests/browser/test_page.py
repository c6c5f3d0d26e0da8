"""The page itself: settings, keys, what it asks for, who can use it, and how narrow it may be."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.architecture.checkout import ROOT
from tests.browser.conftest import Visitor
from tests.browser.visit import Visit, origin
from tests.integration.processes import Server

pytestmark = [pytest.mark.integration, pytest.mark.requires("chromium")]

PAGES = ("speak", "listen", "operations")
LANGUAGES = ("en", "zh")
THEMES = ("light", "dark")
NARROW = {"width": 360, "height": 740}

AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"


def is_settled(visit: Visit) -> None:
    """Wait until the page shows what it has asked the server for."""
    if "/operations" in visit.page.url:
        expect(visit.page.get_by_role("table").first).to_be_visible()


def test_settings_are_in_the_address_and_survive_a_reload(visit: Visit) -> None:
    visit.open()
    page = visit.page
    visit.type("Something of my own.")
    page.get_by_label("voice").select_option("heart")
    page.get_by_label("streaming").uncheck()
    page.get_by_label("typed as a model would").check()
    page.get_by_role("link", name="Listen").click()
    page.get_by_label("frames").select_option("200")
    page.get_by_label("sample", exact=True).check()
    expect(page).to_have_url(re.compile("source=sample"))

    page.reload()

    assert page.url.startswith(f"{visit.url}/#/listen?")
    expect(page.get_by_label("frames")).to_have_value("200")
    expect(page.get_by_label("sample", exact=True)).to_be_checked()
    page.get_by_role("link", name="Speak").click()
    expect(page.get_by_label("Text to speak")).to_have_value("Something of my own.")
    expect(page.get_by_label("voice")).to_have_value("heart")
    expect(page.get_by_label("streaming")).not_to_be_checked()
    expect(page.get_by_label("typed as a model would")).to_be_checked()


def test_an_address_opens_the_same_page_for_somebody_else(visitor: Visitor, voices: Server) -> None:
    mine, theirs = visitor(voices), visitor(voices)
    mine.open()
    mine.type("Hear this.")
    expect(mine.page).to_have_url(re.compile("Hear"))

    theirs.page.goto(mine.page.url)

    expect(theirs.page.get_by_label("Text to speak")).to_have_value("Hear this.")


def test_the_page_speaks_the_language_of_the_browser(visitor: Visitor, voices: Server) -> None:
    visit = visitor(voices, locale="zh-CN")
    visit.open()

    expect(visit.page.get_by_role("link", name="朗读")).to_be_visible()
    assert visit.page.evaluate("document.documentElement.lang") == "zh-CN"
    visit.page.get_by_role("button", name="EN").click()
    expect(visit.page.get_by_role("link", name="Speak")).to_be_visible()
    visit.page.reload()
    expect(visit.page.get_by_role("link", name="Speak")).to_be_visible()


def test_the_theme_follows_the_system_until_it_is_chosen(visitor: Visitor, voices: Server) -> None:
    visit = visitor(voices, color_scheme="dark")
    visit.open()
    dark = background(visit.page)

    visit.button("Theme: as the system").click()
    expect(visit.page).to_have_url(re.compile("theme=light"))
    light = background(visit.page)
    visit.page.reload()

    assert light != dark
    assert background(visit.page) == light
    visit.button("Theme: light").click()
    assert background(visit.page) == dark


def background(page: Page) -> str:
    return str(page.evaluate("getComputedStyle(document.documentElement).backgroundColor"))


def test_enter_speaks_and_escape_stops(visit: Visit) -> None:
    visit.open()
    visit.page.get_by_label("Text to speak").focus()

    visit.page.keyboard.press("Enter")
    visit.says("Speaking.")
    visit.page.keyboard.press("Escape")

    visit.says("Stopped.")


def test_enter_speaks_as_soon_as_the_page_is_there(visit: Visit) -> None:
    visit.open()

    visit.page.keyboard.press("Enter")

    visit.says("Speaking.")


def test_space_talks_while_it_is_held(visit: Visit) -> None:
    visit.open("#/listen")

    visit.page.keyboard.down(" ")
    visit.says("Listening.")
    visit.page.wait_for_timeout(500)
    visit.page.keyboard.up(" ")

    visit.says("Heard. Everything was delivered.")


def test_keys_lead_everywhere_and_a_question_mark_lists_them(visit: Visit) -> None:
    visit.open("#/listen")
    keyboard = visit.page.keyboard
    sheet = visit.page.get_by_role("dialog", name="Keyboard")

    keyboard.press("?")
    expect(sheet).to_contain_text("hold and talk (Listen)")
    keyboard.press("Escape")
    expect(sheet).to_be_hidden()
    keyboard.press("3")
    expect(visit.page).to_have_title("Operations · Legato")
    keyboard.press("1")
    expect(visit.page).to_have_title("Speak · Legato")
    keyboard.press("e")
    expect(visit.page.get_by_role("region", name="Messages, oldest first")).to_be_visible()
    keyboard.press("c")
    expect(visit.page.get_by_role("region", name="Code", exact=True)).to_be_visible()
    with visit.page.expect_websocket():
        keyboard.press("x")


def test_keys_in_the_box_are_text(visit: Visit) -> None:
    visit.open()
    visit.type("")

    visit.page.get_by_label("Text to speak").press_sequentially("2ex ?")

    expect(visit.page.get_by_label("Text to speak")).to_have_value("2ex ?")
    expect(visit.page).to_have_title("Speak · Legato")


def test_events_are_collapsed_filtered_and_exported(visit: Visit) -> None:
    visit.open()
    visit.type("Yes.")
    visit.button("Events").click()
    visit.button("Speak").click()
    visit.says("Said. Everything was delivered.")
    log = visit.page.get_by_role("region", name="Messages, oldest first")

    expect(log.get_by_role("listitem").filter(has_text=re.compile("audio ×"))).to_have_count(1)
    rows = [json.loads(line) for line in visit.save("JSONL").decode().splitlines()]
    visit.page.get_by_label("Filter the events").fill("stream_end")
    expect(log.get_by_role("listitem")).to_have_count(2)
    log.get_by_role("button").first.click()
    expect(log.locator("pre")).to_contain_text('"type": "stream_end"')
    assert len(rows) > 5
    assert all("direction" in row for row in rows)


def test_nothing_is_asked_of_another_origin_and_nothing_is_forbidden(
    visit: Visit, spoken: Path
) -> None:
    visit.open()
    visit.type("Yes.")
    visit.button("Speak").click()
    visit.says("Said. Everything was delivered.")
    visit.save("WAV")
    visit.page.get_by_role("link", name="Listen").click()
    visit.page.get_by_label("file", exact=True).check()
    visit.page.get_by_label("Choose a file").set_input_files(spoken)
    visit.button("Send").click()
    visit.says("Heard. Everything was delivered.")
    visit.page.get_by_role("link", name="Operations").click()
    is_settled(visit)

    assert {origin(url) for url in visit.asked if not url.startswith("blob:")} == {visit.url}
    assert visit.complaints == []
    policy = visit.page.request.get(visit.url).headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


@pytest.mark.requires("web packages")
@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_no_fault(visitor: Visitor, voices: Server, name: str, theme: str) -> None:
    visit = visitor(voices, bypass_csp=True)
    visit.open(f"#/{name}?theme={theme}")
    is_settled(visit)
    visit.button("Code").click()
    visit.page.add_script_tag(path=AXE)

    found = visit.page.evaluate("axe.run()")

    faults = {
        fault["id"]: [node["html"] for node in fault["nodes"]] for fault in found["violations"]
    }
    assert len(found["passes"]) > 20
    assert faults == {}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", PAGES)
def test_nothing_scrolls_sideways_on_a_telephone(
    visitor: Visitor, voices: Server, name: str, language: str
) -> None:
    visit = visitor(voices, viewport=NARROW)
    visit.open(f"#/{name}?lang={language}")
    is_settled(visit)
    visit.page.keyboard.press("c")

    wide = visit.page.evaluate(
        """[...document.querySelectorAll("html, body, body *")]
        .filter((part) => part.getBoundingClientRect().right > innerWidth + 1)
        .filter((part) => !part.closest("pre, .hidden"))
        .map((part) => part.outerHTML.slice(0, 100))"""
    )

    assert visit.page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    assert wide == []
