from typing import Any

import pytest

from legato.audio import AudioFormat
from legato.engines.base import Checkpoint
from legato.engines.upstream.dashscope_results import Results
from legato.engines.upstream.faults import Fault
from legato.speech import Transcript, Word

FORM = AudioFormat(16_000)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def results(clock: Clock) -> Results:
    made = Results(FORM, clock)
    made.sent(80_000)
    return made


def sentence(text: str, begin: int, end: int | None, **more: object) -> dict[str, Any]:
    return {"sentence": {"text": text, "begin_time": begin, "end_time": end, **more}}


def test_what_has_no_end_is_a_partial(results: Results) -> None:
    assert list(results.take(sentence("one", 500, None))) == [
        Transcript(text="one", final=False, start=8_000, end=80_000)
    ]


def test_what_has_an_end_is_final_whatever_else_it_says(results: Results) -> None:
    word = {"begin_time": 500, "end_time": 900, "text": "one", "punctuation": "."}
    (final,) = results.take(sentence("one.", 500, 1_000, sentence_end=False, words=[word]))
    assert final == Transcript(
        text="one.", final=True, start=8_000, end=16_000, words=(Word("one.", 0.5, 0.9),)
    )


def test_positions_stay_in_order_and_inside_the_audio(results: Results) -> None:
    list(results.take(sentence("one", 500, 2_000)))
    (later,) = results.take(sentence("two", 1_500, 9_000))
    assert isinstance(later, Transcript)
    assert (later.start, later.end) == (32_000, 80_000)


def test_words_stay_inside_their_sentence(results: Results) -> None:
    words = [
        {"begin_time": 100, "end_time": 700, "text": "a"},
        {"begin_time": 600, "end_time": 9_000, "text": "b"},
        {"begin_time": None, "end_time": None, "text": "c"},
    ]
    (final,) = results.take(sentence("a b", 500, 1_000, words=words))
    assert isinstance(final, Transcript)
    assert final.words == (Word("a", 0.5, 0.7), Word("b", 0.6, 1.0))


@pytest.mark.parametrize(
    "output", [{}, sentence("", 0, 10), sentence("x", 0, None, heartbeat=True), {"sentence": 1}]
)
def test_what_has_no_words_is_passed_over(output: dict[str, Any], results: Results) -> None:
    assert list(results.take(output)) == []


def test_a_sentence_without_text_is_a_fault(results: Results) -> None:
    with pytest.raises(Fault):
        list(results.take({"sentence": {"end_time": None}}))


@pytest.mark.parametrize("final", [True, False])
def test_gummy_says_itself_what_is_final(final: bool, results: Results) -> None:
    said = {"text": "one", "begin_time": 0, "end_time": 700, "sentence_end": final}
    (told,) = results.take({"transcription": said})
    assert isinstance(told, Transcript)
    assert told.final is final


def test_audio_of_which_nothing_is_said_for_long_is_done_with(
    clock: Clock, results: Results
) -> None:
    assert list(results.settled()) == []
    clock.now = 3.0
    assert list(results.settled()) == [Checkpoint(16_000 * second) for second in range(1, 6)]
    assert list(results.settled()) == []


def test_audio_of_an_open_sentence_is_not(clock: Clock, results: Results) -> None:
    list(results.take(sentence("one", 0, None)))
    clock.now = 9.0
    assert list(results.settled()) == []


def test_at_the_end_all_audio_is_done_with(results: Results) -> None:
    list(results.take(sentence("one", 0, 4_500)))
    assert list(results.finish()) == [Checkpoint(80_000)]
