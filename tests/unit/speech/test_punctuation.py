import pytest

from legato.speech import Transcript, Word
from legato.speech.punctuation import unpunctuated, without_punctuation


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("", ""),
        ("Hello, world!", "Hello world"),
        ("“And then?” – he said… nothing.", "And then he said nothing"),
        ("¿Qué tal? ¡Bien!", "Qué tal Bien"),
        ("It's the students' well-known book.", "It's the students' well-known book"),
        ("3.5% of 1,000 at 10:30.", "3.5% of 1,000 at 10:30"),
        ("-5 degrees - or so", "-5 degrees or so"),
        ("In the U.S. and the e.g. of a.m.", "In the U.S. and the e.g. of a.m."),
        ("Ask Mr. Smith.", "Ask Mr Smith"),
        ("see example.org, now", "see example.org now"),
        ("yes,no;maybe—perhaps", "yes no maybe perhaps"),
        ("and/or R&D @home #1", "and/or R&D @home #1"),
        ("1:a", "1 a"),
        ("你好，世界。", "你好世界"),
        ("你好,世界!今天-明天", "你好世界今天明天"),
        ("《红楼梦》、“三国”……", "红楼梦三国"),
        ("今天是3.5度，OK。", "今天是3.5度OK"),
        ("？！", ""),
        ("$5 + €3", "$5 + €3"),
    ],
)
def test_only_marks_that_structure_a_text_are_left_out(text: str, bare: str) -> None:
    assert without_punctuation(text) == bare
    assert without_punctuation(bare) == bare


def test_words_lose_theirs_too_and_keep_their_times() -> None:
    words = (Word("Hello,", 0.0, 0.5, 0.9), Word("–", 0.5, 0.6), Word("world.", 0.6, 1.0))
    heard = Transcript(text="Hello, – world.", final=True, start=1, end=2, words=words)
    assert unpunctuated(heard) == Transcript(
        text="Hello world",
        final=True,
        start=1,
        end=2,
        words=(Word("Hello", 0.0, 0.5, 0.9), Word("world", 0.6, 1.0)),
    )
