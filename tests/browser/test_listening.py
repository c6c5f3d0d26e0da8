"""Listening: a microphone, a file and the sample become text, and the text subtitles."""

import json
import re
from pathlib import Path

import pytest

from tests.browser.conftest import SPOKEN
from tests.browser.visit import Visit

pytestmark = [pytest.mark.integration, pytest.mark.requires("chromium")]

TIMES = r"\d\d:\d\d:\d\d{mark}\d\d\d --> \d\d:\d\d:\d\d{mark}\d\d\d"


def words_of(text: str) -> list[str]:
    return re.findall(r"[a-z']+", text.lower())


def word_errors(said: str, heard: str) -> int:
    """Words to insert, delete or replace (Levenshtein)."""
    one, other = words_of(said), words_of(heard)
    row = list(range(len(other) + 1))
    for at, word in enumerate(one, 1):
        above, row = row, [at]
        for column, found in enumerate(other, 1):
            replaced = above[column - 1] + (word != found)
            row.append(min(replaced, above[column] + 1, row[-1] + 1))
    return row[-1]


def transcript(visit: Visit) -> str:
    """What is final, without the times before each line."""
    log = visit.page.get_by_role("log", name="What was heard")
    return " ".join(log.locator("p > span").all_inner_texts())


def test_words_are_counted_as_wrong() -> None:
    assert word_errors("a quiet harbour", "A quiet harbour.") == 0
    assert word_errors("a quiet harbour", "the quiet old harbour") == 2


def test_the_microphone_is_understood(visit: Visit) -> None:
    visit.open("#/listen?effects=off")

    visit.button("Listen").click()
    visit.says("Listening.")
    # Six words in, the sentence is half over: what follows is final only after its end.
    visit.page.get_by_role("log").get_by_text("awake").wait_for()
    visit.button("Stop").click()
    visit.says("Heard. Everything was delivered.")

    assert word_errors(SPOKEN, transcript(visit)) <= 1
    assert visit.number("lost samples").startswith("0")
    assert visit.complaints == []


def test_a_file_becomes_text_and_subtitles(visit: Visit, spoken: Path) -> None:
    visit.open("#/listen?source=file")

    visit.page.get_by_label("Choose a file").set_input_files(spoken)
    visit.button("Send").click()
    visit.says("Heard. Everything was delivered.")

    heard = transcript(visit)
    srt, vtt = visit.save("SRT").decode(), visit.save("VTT").decode()
    assert word_errors(SPOKEN, heard) <= 1
    assert re.match(rf"1\n{TIMES.format(mark=',')}\n", srt)
    assert re.match(rf"WEBVTT\n\n{TIMES.format(mark='[.]')}\n", vtt)
    assert words_of(heard) == words_of(re.sub(r"\d|-->", "", srt))
    assert words_of(heard) == words_of(re.sub(r"WEBVTT|\d|-->", "", vtt))


def test_the_sample_needs_neither_file_nor_microphone(visit: Visit) -> None:
    visit.open("#/listen?source=sample&frame=200")
    sample = json.loads(visit.page.request.get(f"{visit.url}/sample.json").body())

    visit.button("Send").click()
    visit.says("Heard. Everything was delivered.")

    assert word_errors(sample["text"], transcript(visit)) <= 1
    visit.button("copy").click()
    visit.says("copied")
    visit.button("clear").click()
    visit.page.get_by_text("Your words will stand here.").wait_for()
