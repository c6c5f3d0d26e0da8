"""The built page in a browser, as the gateway serves it."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Page, async_playwright

from tests.integration.gateway.wire import Site, serving

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]


def address(site: Site) -> str:
    return f"http{site.server.url.removeprefix('ws')}/"


@asynccontextmanager
async def browsing() -> AsyncIterator[Page]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=FLAGS
        )
        try:
            yield await browser.new_page()
        finally:
            await browser.close()


@pytest.mark.requires("chromium")
@pytest.mark.slow
async def test_the_page_works_within_its_policy_and_asks_nobody_else() -> None:
    faults: list[str] = []
    asked: set[str] = set()
    async with serving() as site, browsing() as page:
        page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda request: asked.add(request.url))
        page.on("websocket", lambda socket: asked.add(socket.url))
        await page.goto(address(site))
        await page.get_by_text("ms", exact=True).first.wait_for()  # a round trip was measured
        hosts = {urlsplit(url).netloc for url in asked if not url.startswith(("data:", "blob:"))}
        assert hosts == {urlsplit(address(site)).netloc}
        assert any(url.startswith("ws://") for url in asked)
        assert faults == []
