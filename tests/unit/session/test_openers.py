from legato.protocol.media import AudioFrame
from legato.protocol.messages import Cancel, Finalize, Flush, StreamEnd, Text
from legato.session.lane import UNNUMBERED, Item
from legato.session.openers import Openers, Unsaid

EMPTY = AudioFrame(b"", UNNUMBERED, last=True)


def openers(*opened: tuple[int, AudioFrame | Text]) -> Openers:
    noted = Openers()
    for utterance, item in opened:
        noted.note(utterance, item)
    return noted


def test_of_what_was_not_sent_an_empty_piece_is_said() -> None:
    noted = openers((0, AudioFrame(b"ab", UNNUMBERED)), (1, Text(text="a")))
    assert noted.words_of_cancel(1, 3) == [
        EMPTY,
        Cancel(stream=3, utterance=0),
        Text(stream=3, text=""),
        Cancel(stream=3, utterance=1),
    ]


def test_of_what_was_sent_the_cancel_is_enough() -> None:
    noted = openers((0, Text(text="a", seq=0)), (1, Text(text="b", seq=1)))
    assert noted.words_of_cancel(1, 3) == [Cancel(stream=3, utterance=1)]


def test_the_sent_ones_are_cancelled_first() -> None:
    sent = Text(text="a")
    noted = openers((0, sent), (1, Text(text="b")))
    sent.seq = 0
    assert noted.words_of_cancel(1, 3)[0] == Cancel(stream=3, utterance=0)


def test_what_comes_after_the_cancelled_is_left_alone() -> None:
    noted = openers((0, Text(text="a")), (1, Text(text="b")))
    assert len(noted.words_of_cancel(0, 3)) == 2


def test_a_cancel_that_was_not_sent_is_said_again_with_the_next() -> None:
    noted = openers((0, Text(text="a")))
    first = noted.words_of_cancel(0, 3)
    assert noted.words_of_cancel(0, 3) == first


def test_what_is_said_again_begins_anew() -> None:
    noted = openers((0, Text(text="a", seq=0)))
    noted.restore(
        [
            (1, Flush()),
            (1, Text(text="b")),
            (1, Text(text="c")),
            (2, AudioFrame(b"ab", UNNUMBERED)),
        ]
    )
    assert noted.words_of_cancel(2, 3) == [
        Cancel(stream=3, utterance=0),
        Text(stream=3, text=""),
        Cancel(stream=3, utterance=1),
        AudioFrame(b"", UNNUMBERED, last=True, utterance=2),
        Cancel(stream=3, utterance=2),
    ]


def test_what_is_unsaid_is_told_by_counting_ends_backwards() -> None:
    queued: list[Item] = [
        Text(text="a"),
        Finalize(),
        AudioFrame(b"", UNNUMBERED, last=True),
        Text(text="c"),
        StreamEnd(),
    ]
    unsaid = Unsaid(2, 1)
    assert [unsaid(item) for item in reversed(queued)] == [False, False, True, True, True]


def test_an_older_cancel_is_part_of_the_new_one() -> None:
    unsaid = Unsaid(2, 2)
    assert [unsaid(item) for item in (Cancel(utterance=0), Text(text="a"))] == [True, True]
