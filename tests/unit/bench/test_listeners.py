import pytest

from legato.bench.clips import SAMPLE_RATE, Clip
from legato.bench.listeners import (
    LATE,
    PAUSE,
    SILENCE,
    Listeners,
    Speech,
    delays,
    missing_words,
    per_partial,
    speeches,
    uncovered,
)
from legato.bench.row import Row
from legato.bench.talkers import Line, Notes, Written

SECOND = bytes(2 * SAMPLE_RATE)
ONE = Clip("one", "one little dog", SECOND)
TWO = Clip("two", "two big cats", SECOND * 2)
SPEECH = Speech((ONE, TWO))
NEXT = SAMPLE_RATE + round(PAUSE * SAMPLE_RATE)


def line(text: str, start: int, at: float = 0.0, *, final: bool = True) -> Line:
    return Line(final=final, text=text, start=start, end=start + 100, at=at)


GOOD = Notes(
    lines=[
        line("One", 10, final=False),
        line("One little dog.", 10, 1.0 + SILENCE + 0.1),
        line("Two big", NEXT + 5, final=False),
        line("two big", NEXT + 5, NEXT / SAMPLE_RATE + 1.5),
        line("cats", NEXT + SAMPLE_RATE, NEXT / SAMPLE_RATE + 2.0 + SILENCE + 0.3),
    ]
)


def test_a_final_counts_from_the_silence_after_its_utterance() -> None:
    assert delays(SPEECH, GOOD) == pytest.approx([0.1, 0.3])
    assert delays(SPEECH, Notes()) == []


def test_an_utterance_is_lost_of_which_half_the_words_are_missing() -> None:
    assert uncovered(SPEECH, GOOD) == 0
    assert missing_words(SPEECH, GOOD) == 0
    half = Notes(lines=[line("little", 10), line("two big", NEXT)])
    assert uncovered(SPEECH, half) == 1
    assert missing_words(SPEECH, half) == 3
    assert uncovered(SPEECH, Notes()) == 2


def test_partials_are_counted_over_the_speech_alone() -> None:
    assert per_partial(SPEECH, GOOD) == 1.5
    assert per_partial(SPEECH, Notes()) == 3.0


def test_each_talker_begins_with_another_utterance() -> None:
    clips = [Clip(str(n), f"word{n}", SECOND) for n in range(5)]
    first, second, *_, fourth = speeches(clips, 4, 2)
    assert [clip.text for clip in first.utterances[:3]] == ["word0 word1", "word2", "word3 word4"]
    assert first.utterances[1:4] == second.utterances[:3]
    assert fourth == first
    assert len(first.utterances) == 6
    assert first.seconds == 10.0


BENCH = Listeners(name="listeners.2", count=2, rounds=1, final=1.0, interval=2.0)


def rows(*notes: Notes) -> dict[str, Row]:
    written = Written(notes=list(notes), cpu=0.1)
    found = BENCH.rows([SPEECH] * len(notes), written, alone=0.0, cores=0.5, about="quiet")
    assert [row.name for row in found] == [figure.name for figure in BENCH.figures]
    return {row.name.rpartition(".")[2]: row for row in found}


def test_the_rows_hold_the_slowest_final_and_the_rarest_partials() -> None:
    found = rows(GOOD, Notes(lines=[line("one little dog two big cats", 0, 3.0)]))
    assert found["final"].value == pytest.approx(3.0 - 1.0 - SILENCE)
    assert found["partial_every"].value == 3.0
    assert found["lost"].value == 1
    assert found["missing"].value == 0
    assert (found["untold"].value, found["untold"].ok) == (1, False)


def test_who_was_told_may_have_few_partials() -> None:
    told = Notes(lines=GOOD.lines[1:2], notices=["degraded"])
    assert rows(told)["untold"].value == 0


@pytest.mark.parametrize(
    ("notes", "why"),
    [
        (Notes(fault="overloaded: busy"), "1 of 1 streams failed: overloaded: busy"),
        (Notes(lines=GOOD.lines, late=2 * LATE), "invalid: the microphones were late by 100 ms"),
        (Notes(), "no final came"),
    ],
)
def test_what_is_no_measurement_says_why(notes: Notes, why: str) -> None:
    for row in rows(notes).values():
        assert row.value is None
        assert why in row.note
