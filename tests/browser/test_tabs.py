"""Several tabs, tabs out of sight, and tabs that stay open for long."""

import time
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, CDPSession, Playwright

from tests.browser.chromium import window
from tests.browser.conftest import Visitor, http
from tests.browser.visit import Visit, pcm_of
from tests.integration.processes import Server

pytestmark = [pytest.mark.integration, pytest.mark.requires("chromium")]

FILLER = "This is said while nobody looks, and it must not stop. "
FILLER_SECONDS = 2.75
"""`tone` gives each of its characters 50 ms."""

ROUND = "One round of many. "

HEAP_GROWTH = 1_000_000
"""Bytes, whatever the number of rounds; half of them fill what charts show of the last minute."""


def test_two_tabs_speak_at_once(visitor: Visitor, voices: Server) -> None:
    first = visitor(voices)
    second = Visit(first.page.context.new_page(), first.url)
    for visit, text in ((first, "The first tab speaks."), (second, "The second one as well.")):
        visit.open()
        visit.type(text)

    for visit in (first, second):
        visit.page.bring_to_front()
        visit.button("Speak").click()
    for visit in (first, second):
        visit.says("Said. Everything was delivered.")
        visit.says("both ends have the same digest.")

    assert pcm_of(first.save("WAV")) != pcm_of(second.save("WAV"))


def plays_on_out_of_sight(window: BrowserContext, server: Server, seconds: float) -> None:
    """Speak for so long behind another tab, and compare."""
    visit = Visit(window.new_page(), http(server.url))
    visit.open("#/speak?engine=tone")
    visit.type(FILLER * round(seconds / FILLER_SECONDS))
    visit.button("Speak").click()
    visit.says("Speaking.")

    other = window.new_page()
    other.bring_to_front()
    began = time.monotonic()
    visit.says("Said. Everything was delivered.", within=(seconds + 15) * 1_000)
    lasted = time.monotonic() - began

    assert visit.page.evaluate("document.visibilityState") == "hidden"
    assert seconds - 2 < lasted < seconds + 3
    visit.page.bring_to_front()
    visit.says("both ends have the same digest.")
    assert visit.number("stalls") == "0"


def test_a_tab_out_of_sight_plays_on(
    playwright: Playwright, voices: Server, tmp_path: Path
) -> None:
    with window(playwright, tmp_path) as tabs:
        plays_on_out_of_sight(tabs, voices, 6.0)


@pytest.mark.opt_in("lasts for a minute: make soak")
def test_a_tab_out_of_sight_plays_on_for_a_minute(
    playwright: Playwright, voices: Server, tmp_path: Path
) -> None:
    with window(playwright, tmp_path) as tabs:
        plays_on_out_of_sight(tabs, voices, 60.0)


def emptied(visit: Visit, session: CDPSession) -> int:
    """Bytes of JavaScript objects in use, without the log, garbage collected."""
    visit.button("Events").click()
    visit.button("clear").click()
    visit.button("Events").click()
    for _ in range(2):
        session.send("HeapProfiler.collectGarbage")
    metrics = session.send("Performance.getMetrics")["metrics"]
    return next(int(one["value"]) for one in metrics if one["name"] == "JSHeapUsedSize")


def rounds_for(visit: Visit, seconds: float) -> int:
    """Speak again and again; return how often it was."""
    end = time.monotonic() + seconds
    count = 0
    while time.monotonic() < end:
        visit.button("Speak").click()
        visit.says("Said. Everything was delivered.")
        count += 1
    return count


def heap_stays(visit: Visit, *, warm: float, seconds: float) -> None:
    visit.open("#/speak?engine=tone")
    visit.type(ROUND)
    session = visit.page.context.new_cdp_session(visit.page)
    session.send("Performance.enable")
    rounds_for(visit, warm)
    before = emptied(visit, session)

    count = rounds_for(visit, seconds)

    growth = emptied(visit, session) - before
    assert growth < HEAP_GROWTH, f"{growth:+} bytes after {count} rounds"


def test_the_heap_does_not_grow_with_what_is_spoken(visit: Visit) -> None:
    heap_stays(visit, warm=3.0, seconds=9.0)


@pytest.mark.opt_in("lasts for ten minutes: make soak")
@pytest.mark.timeout(900)
def test_the_heap_does_not_grow_in_ten_minutes(visit: Visit) -> None:
    heap_stays(visit, warm=60.0, seconds=600.0)
