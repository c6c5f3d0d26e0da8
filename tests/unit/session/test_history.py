from legato.audio import AudioFormat, Codec, PayloadFormat
from legato.protocol.media import AudioFrame
from legato.protocol.messages import Finalize, Flush, StreamEnd, Text
from legato.session.history import History
from legato.session.lane import UNNUMBERED, Item
from tests.unit.session.ends import PCM, SAMPLES

AUDIO = AudioFormat(16_000)


def frame(seq: int, *, last: bool = False) -> AudioFrame:
    """A frame that was sent, or was not if its number is below 0."""
    return AudioFrame(PCM, seq, last, sample=max(0, seq) * SAMPLES)


def history(*said: tuple[int, Item]) -> History:
    kept = History(AUDIO)
    for utterance, item in said:
        kept.keep(utterance, item)
    return kept


def items(kept: History) -> list[Item]:
    return [item for _, item in kept.again(9_999)[1]]


def test_what_was_said_is_said_again_unnumbered() -> None:
    text = Text(seq=4, text="a")
    kept = history((0, frame(2)), (1, text))
    sample, said = kept.again(9_999)
    assert sample == 2 * SAMPLES
    assert said == [(0, AudioFrame(PCM, UNNUMBERED, sample=2 * SAMPLES)), (1, Text(text="a"))]


def test_audio_that_is_done_with_is_let_go() -> None:
    kept = history((0, frame(0)), (0, frame(1)), (0, frame(2)))
    kept.done(2 * SAMPLES)
    assert kept.again(9_999)[0] == 2 * SAMPLES
    assert (len(items(kept)), kept.passed) == (1, 0)


def test_what_is_done_with_never_goes_back() -> None:
    kept = history((0, frame(0)), (0, frame(1)))
    kept.done(SAMPLES)
    kept.done(10)
    assert kept.done_upto == SAMPLES


def test_a_frame_that_is_half_done_with_is_cut() -> None:
    kept = history((0, frame(1)))
    kept.done(SAMPLES + 20)
    sample, ((_, again),) = kept.again(9_999)
    assert isinstance(again, AudioFrame)
    assert (sample, again.payload) == (SAMPLES + 20, PCM[40:])


def test_the_end_of_an_utterance_is_kept_until_it_has_ended() -> None:
    kept = history((0, frame(0, last=True)), (1, frame(1)))
    kept.done(2 * SAMPLES)
    first, second = items(kept)
    assert isinstance(first, AudioFrame)
    assert isinstance(second, AudioFrame)
    assert (first.payload, first.last, second.payload) == (b"", True, b"")
    assert kept.passed == -1
    kept.ended(0)
    assert len(items(kept)) == 1


def test_marks_are_kept_until_their_utterance_has_ended() -> None:
    kept = history((0, Flush()), (0, Text(text="a")), (0, Finalize()), (1, Text(text="b")))
    kept.done(100)
    assert len(items(kept)) == 4
    kept.ended(0)
    assert items(kept) == [Text(text="b")]


def test_the_end_of_input_is_always_said_again() -> None:
    kept = history((0, Text(text="a")), (0, StreamEnd(seq=1)))
    kept.ended(0)
    assert items(kept) == [StreamEnd()]


def test_what_was_not_sent_is_whole() -> None:
    kept = history((0, frame(UNNUMBERED)))
    kept.done(10 * SAMPLES)
    sample, ((_, again),) = kept.again(9_999)
    assert isinstance(again, AudioFrame)
    assert (sample, again.payload, kept.passed) == (9_999, PCM, -1)


def test_where_there_is_nothing_the_next_sample_is_the_first() -> None:
    assert History(AUDIO).again(123) == (123, [])


def test_a_packet_that_is_half_done_with_is_said_again_whole() -> None:
    kept = History(PayloadFormat(16_000, 1, Codec.OPUS, 20))
    for seq in range(3):
        kept.keep(0, AudioFrame(b"packet", seq, sample=320 * seq))
    kept.done(400)
    sample, said = kept.again(9_999)
    assert sample == 320
    assert [item for _, item in said] == [
        AudioFrame(b"packet", UNNUMBERED, sample=320),
        AudioFrame(b"packet", UNNUMBERED, sample=640),
    ]
