import json
from pathlib import Path

import pytest

from legato.flow.sentences import segments
from legato.speech.reading.text import LANGUAGES, language_of, read_out

CUT = "‖"
CORPUS = Path(__file__).parents[3] / "corpus" / "readings.jsonl"
LINES = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]


def test_the_corpus_is_large_and_in_two_languages() -> None:
    assert len(LINES) >= 300
    assert {line["language"] for line in LINES} == LANGUAGES
    assert len({line["marked"] for line in LINES}) == len(LINES)


@pytest.mark.parametrize("line", LINES, ids=lambda line: f"{line['group']}: {line['marked']}")
def test_each_segment_of_the_corpus_is_read_as_it_should_be(line: dict[str, str]) -> None:
    found = [segment.text for segment in segments(line["marked"].replace(CUT, ""))]
    assert found == [piece.strip() for piece in line["marked"].split(CUT)]
    read = [read_out(text, language_of(text) or line["language"]) for text in found]
    assert read == [piece.strip() for piece in line["read"].split(CUT)]


@pytest.mark.parametrize(
    ("text", "asked", "language"),
    [
        ("Hello", None, "en"),
        ("Hello", "en-GB", "en-GB"),
        ("Hallo", "de", "de"),
        ("Grüße", None, ""),
        ("你好 5", None, "zh"),
        ("你好 5", "en", "zh"),
        ("你好 5", "yue", "yue"),
        ("日本の", None, ""),
        ("5", None, ""),
        ("5。", None, "zh"),
        ("5", "zh", "zh"),
        ("Hello", "zh", "en"),
        ("Héllo", "zh-CN", ""),
        ("Привет", None, ""),
        ("Привет", "ru", "ru"),
    ],
)
def test_a_text_has_the_language_of_its_script_or_of_the_request(
    text: str, asked: str | None, language: str
) -> None:
    assert language_of(text, asked) == language


def test_a_language_that_is_not_known_is_left_as_it_is() -> None:
    text = "Das kostet 3,50 €."
    assert read_out(text, "de") is text
    assert read_out(text, "") is text


def test_british_dates_begin_with_the_day() -> None:
    assert read_out("3/4/2024", "en-GB") == "April third, twenty twenty four"
    assert read_out("3/4/2024", "en-US") == "March fourth, twenty twenty four"


def test_an_english_sentence_in_chinese_is_read_in_english() -> None:
    assert read_out("他说I have 3 cats。我有3只。", "zh") == "他说I have three cats。我有三只。"
