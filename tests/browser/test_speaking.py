"""Speaking: what is heard is what the server sent, to the sample."""

import hashlib

import pytest

from tests.browser.conftest import Visitor
from tests.browser.visit import pcm_of
from tests.integration.processes import Server

pytestmark = [pytest.mark.integration, pytest.mark.requires("chromium")]

SHORT = "The harbour was quiet."

TAP = """
const post = MessagePort.prototype.postMessage;
MessagePort.prototype.postMessage = function (order, ...rest) {
  const begins = order?.kind === "begin";
  if (begins) window.playout = this;
  return post.call(this, begins ? { ...order, effects: false, tap: true } : order, ...rest);
};
window.rendered = () => new Promise((resolve) => {
  window.playout.addEventListener("message", ({ data }) => {
    if (data.kind === "digest") resolve(data);
  });
  post.call(window.playout, { kind: "digest" });
});
"""
"""Has the worklet render without fades, and tells the hash of all that it rendered."""


def test_what_is_rendered_is_what_the_server_sent(visitor: Visitor, voices: Server) -> None:
    visit = visitor(voices, script=TAP)
    visit.open()
    visit.type(SHORT)

    visit.button("Speak").click()
    visit.says("Said. Everything was delivered.")
    rendered = visit.page.evaluate("rendered()")

    sent = visit.payload()
    assert rendered["samples"] == len(sent) // 2 > 10_000
    assert rendered["sha256"] == hashlib.sha256(sent).hexdigest()
    assert pcm_of(visit.save("WAV")) == sent
