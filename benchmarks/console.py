"""Measure the console in Debian's Chromium: `python -m benchmarks.console` in the checkout.

Each line is a figure of docs/console.md, and what it must not exceed. `--soak` listens to the
microphone for ten minutes instead of twenty seconds.
"""

from __future__ import annotations

import argparse
import gzip
import re
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, CDPSession, Page, expect, sync_playwright

from tests.browser.chromium import chromium, fake_microphone
from tests.browser.visit import Visit, context
from tests.integration.processes import running_server

ASSETS: Final = Path(__file__).parents[1] / "src" / "legato" / "console" / "static" / "assets"
SAMPLE: Final = ASSETS.parent / "sample.wav"
ROUNDS: Final = 9
LISTENED: Final = 20.0
SOAKED: Final = 600.0
BUSY: Final = 10.0
PATIENCE: Final = 10.0
PAINT: Final = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
LONG: Final = "The harbour was quiet that morning, and only a few gulls were awake. " * 40

PROBE: Final = """
const Plain = AudioWorkletNode;
window.AudioWorkletNode = class extends Plain {
  constructor(audio, name, options) {
    super(audio, name, options);
    this.port.addEventListener("message", ({ data }) => {
      if (data.kind === "audible") window.audible = 1;
      if (data.kind === "frame") {
        window.captured = { frames: (window.captured?.frames ?? 0) + 1, gaps: data.gaps };
      }
      if (data.kind === "silent") {
        const { contextTime, performanceTime } = audio.getOutputTimestamp();
        const silent = performanceTime + 1000 * (data.frame / audio.sampleRate - contextTime);
        window.silence = silent - window.clicked;
      }
    });
  }
};
addEventListener("click", ({ timeStamp }) => { window.clicked = timeStamp; }, true);
"""
"""Hears what the worklets tell the page, and when it was clicked."""


def main() -> None:
    """Print each figure with its bound."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--soak", action="store_true", help="listen for ten minutes")
    listened = SOAKED if parser.parse_args().soak else LISTENED
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(running_server(cwd=place))
        playwright = stack.enter_context(sync_playwright())
        browser = stack.enter_context(chromium(playwright, *fake_microphone(SAMPLE)))
        url = server.url.replace("ws", "http", 1)
        figures = [*first_visits(browser, url), *speaking(browser, url)]
        figures += [main_thread(browser, url), gaps(browser, url, listened)]
    for name, value, bound in figures:
        print(f"{name:<44} {value:>10}   {bound}")


Figure = tuple[str, str, str]


def sizes(first: set[str]) -> Iterator[Figure]:
    """Compressed files: what a first visit loads, and what all pages do in that language."""
    files = [ASSETS.parent / "index.html", *ASSETS.iterdir()]
    packed = {path.name: len(gzip.compress(path.read_bytes(), 9)) for path in files}
    worklets = {name for name in packed if "worklet" in name}
    foreign = {name for name in packed.keys() - first if name.startswith("words.")}
    rows = (
        ("bundle of a first visit, gzip", first | {"index.html"}, "60 KiB"),
        ("bundle of all pages, gzip", packed.keys() - foreign - worklets, "60 KiB"),
        ("worklets, gzip", worklets, ""),
    )
    for name, counted, bound in rows:
        yield (name, f"{sum(packed[file] for file in counted) / 1024:.1f} KiB", bound)


def first_visits(browser: Browser, url: str) -> Iterator[Figure]:
    """What visits with an empty cache load, and how soon they see something."""
    seen = []
    for _ in range(ROUNDS):
        with context(browser) as user:
            visit = Visit(user.new_page(), url)
            visit.open()
            seen.append(told(visit.page, PAINT))
    loaded = {address.rpartition("/")[2] for address in visit.asked if "/assets/" in address}
    yield from sizes(loaded)
    yield ("first paint", median(seen), "1000 ms")


def speaking(browser: Browser, url: str) -> Iterator[Figure]:
    """From the click to what is heard, and from the next one to silence."""
    with context(browser) as user:
        user.add_init_script(PROBE)
        visit = Visit(user.new_page(), url)
        visit.open()
        heard, silent = [], []
        for _ in range(ROUNDS):
            visit.page.evaluate("window.audible = window.silence = null")
            visit.button("Speak").click()
            told(visit.page, "window.audible")
            heard.append(milliseconds(visit, "audible"))
            visit.page.wait_for_timeout(300)
            visit.button("Stop").click()
            silent.append(told(visit.page, "window.silence"))
    yield ("click to audible, first", f"{heard[0]:.0f} ms", "")
    yield ("click to audible", median(heard), "250 ms p50")
    yield ("click on Stop to silence", median(silent), "60 ms")


def told(page: Page, expression: str) -> float:
    """The value of `expression` once it has one; the page's policy lets nobody wait inside it."""
    end = time.monotonic() + PATIENCE
    while (value := page.evaluate(expression)) is None:
        if time.monotonic() > end:
            raise TimeoutError(f"no {expression}")
        page.wait_for_timeout(20)
    return float(value)


def milliseconds(visit: Visit, name: str) -> float:
    """A duration of the narrow column."""
    row = visit.page.locator(f"[data-number={name}]")
    expect(row).to_contain_text("s", timeout=PATIENCE * 1000)
    number, unit = re.findall(r"[\d.]+|m?s", row.inner_text())
    return float(number) * (1 if unit == "ms" else 1000)


def main_thread(browser: Browser, url: str) -> Figure:
    """Share of a core that the page's thread takes while it speaks and listens."""
    with context(browser) as user:
        visit = Visit(user.new_page(), url)
        visit.open()
        visit.type(LONG)
        visit.button("Speak").click()
        visit.says("Speaking.")
        visit.page.get_by_role("link", name="Listen").click()
        visit.button("Listen").click()
        visit.says("Listening.")
        session = user.new_cdp_session(visit.page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})
        before = busy(session)
        visit.page.wait_for_timeout(BUSY * 1000)
        used, passed = (now - then for now, then in zip(busy(session), before, strict=True))
    return ("main thread, both directions", f"{100 * used / passed:.1f} %", "10 %")


def busy(session: CDPSession) -> tuple[float, float]:
    """Seconds that the thread has worked, and what the clock says."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    value = {one["name"]: float(one["value"]) for one in metrics}
    return value["TaskDuration"], value["Timestamp"]


def gaps(browser: Browser, url: str, seconds: float) -> Figure:
    """Quanta that the microphone failed to give."""
    with context(browser) as user:
        user.add_init_script(PROBE)
        visit = Visit(user.new_page(), url)
        visit.open("#/listen?effects=off")
        visit.button("Listen").click()
        visit.says("Listening.")
        visit.page.wait_for_timeout(seconds * 1000)
        captured = visit.page.evaluate("window.captured")
    lasted = captured["frames"] * 0.02
    return (f"gaps in the microphone, {lasted:.0f} s", str(captured["gaps"]), "0")


def median(values: list[float]) -> str:
    """The middle of milliseconds."""
    return f"{statistics.median(values):.0f} ms"


if __name__ == "__main__":
    main()
