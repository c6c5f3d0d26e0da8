"""Breaking the connection: nothing is lost, and the badge is right to say so."""

import random
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from playwright.sync_api import expect

from legato.protocol.media import AudioFrame
from tests.browser.test_listening import transcript, words_of
from tests.browser.visit import Visit, pcm_of
from tests.integration.processes import Server, run_legato

pytestmark = [pytest.mark.integration, pytest.mark.requires("chromium")]

LONG = " ".join(f"Sentence number {number} is not very long." for number in range(6))
CUTS = 10
SEED = 4


def cut_at_random(visit: Visit, frames: Sequence[AudioFrame], *, between: int) -> int:
    """Press "cut" ten times, whenever so many more frames have passed; return how often it was."""
    chance = random.Random(SEED)
    button, stop = visit.button("cut"), visit.button("Stop")
    for cuts in range(CUTS):
        due = len(frames) + chance.randint(between // 4, between)
        while len(frames) < due:
            if not stop.is_visible():
                return cuts
            visit.page.wait_for_timeout(2)
        button.click()
    return CUTS


def test_speech_is_the_same_to_the_sample_after_ten_cuts(
    visit: Visit, voices: Server, tmp_path: Path
) -> None:
    visit.open()
    visit.type(LONG)

    visit.button("Speak").click()
    cuts = cut_at_random(visit, visit.down, between=24)
    visit.says(f"After {CUTS} breaks: both ends have the same digest.", within=60_000)
    visit.button("Stop").click()

    heard = pcm_of(visit.save("WAV"))
    rate = str(visit.page.evaluate("new AudioContext().sampleRate"))
    said = run_legato(
        *("say", LONG, "-o", "whole.wav", "--rate", rate, "--url", voices.url), cwd=tmp_path
    )
    assert said.returncode == 0, said.stderr.decode()
    assert cuts == CUTS
    assert heard == pcm_of((tmp_path / "whole.wav").read_bytes())
    assert re.match("0", visit.number("lost samples"))
    assert len(visit.sockets) > CUTS


def test_the_same_is_heard_after_ten_cuts(visit: Visit, voices: Server, spoken: Path) -> None:
    undisturbed = run_legato("listen", str(spoken), "--url", voices.url, cwd=spoken.parent)
    visit.open("#/listen?source=file")
    visit.page.get_by_label("Choose a file").set_input_files(spoken)

    visit.button("Send").click()
    cuts = cut_at_random(visit, visit.up, between=16)
    visit.says("Heard. Everything was delivered.", within=60_000)

    assert cuts == CUTS
    assert words_of(transcript(visit)) == words_of(undisturbed.stdout.decode())
    visit.says(f"After {CUTS} breaks: both ends have the same digest.")


def test_both_digests_are_one_click_away(visit: Visit) -> None:
    visit.open()
    visit.type("Yes.")
    visit.button("Speak").click()
    visit.says("both ends have the same digest.")

    visit.page.get_by_role("button", name="Show both digests").click()

    digests = visit.page.get_by_text(re.compile("^[0-9a-f]{64}$"))
    expect(digests).to_have_count(2)
    assert len(set(digests.all_inner_texts())) == 1


def test_a_freeze_and_a_bad_network_lose_nothing(visit: Visit) -> None:
    visit.open()
    visit.button("Speak").click()
    visit.says("Speaking.")

    visit.page.get_by_label("network").select_option("lossy network")
    visit.button("freeze 3 s").click()

    visit.says("After 2 breaks: both ends have the same digest.", within=30_000)
