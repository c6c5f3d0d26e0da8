"""The Operations page: what runs behind the page."""

import re
import socket

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visitor
from tests.browser.visit import Visit
from tests.integration.processes import Server

pytestmark = [pytest.mark.integration, pytest.mark.requires("chromium")]


def test_the_running_server_is_shown(visit: Visit, voices: Server) -> None:
    visit.open("#/operations")
    table = visit.page.get_by_role("table")
    mine = re.compile(rf"{re.escape(socket.gethostname())}-{voices.process.pid}-\w+")

    for name in ("Gateways", "Workers"):
        rows = table.filter(has_text=re.compile(f"^{name}", re.IGNORECASE)).get_by_role("row")
        expect(rows.filter(has_text=mine)).to_have_count(1)
        expect(rows.filter(has_text=mine)).to_contain_text("ready")
        expect(rows.filter(has_text=mine)).to_contain_text("MB")
    for engine in ("hibari", "moonshine"):
        expect(table.get_by_role("row").filter(has_text=engine)).to_contain_text("ready")


def test_a_stream_shows_as_a_lease_and_goes(visitor: Visitor, voices: Server) -> None:
    speaker, watcher = visitor(voices), visitor(voices)
    watcher.open("#/operations")
    leases = watcher.page.get_by_role("table", name=re.compile("leases", re.IGNORECASE))
    speaker.open("#/speak?pace=2&engine=tone")
    speaker.type("Two words a second keep it open for some time. " * 3)

    speaker.button("Speak").click()
    expect(leases.get_by_role("row").filter(has_text="tone")).to_have_count(1)
    speaker.button("Stop").click()

    expect(leases.get_by_role("row").filter(has_text="tone")).to_have_count(0)
    expect(leases).to_contain_text("0 held in all")
