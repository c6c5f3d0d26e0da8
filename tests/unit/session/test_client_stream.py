import pytest

from legato.audio import AudioFormat
from legato.errors import BadAudio, MalformedMessage, MessageTooLarge, UnexpectedMessage
from legato.flow.digest import Chain
from legato.protocol.media import AudioFrame, encode_frame
from legato.protocol.messages import (
    MAX_MESSAGE_BYTES,
    MAX_NUMBER,
    MAX_POSITION,
    Cancel,
    Continuation,
    Finalize,
    Flush,
    StreamEnd,
    Text,
    Transcript,
    UtteranceEnd,
)
from legato.session.client_stream import (
    EARLY_CHARS,
    EARLY_SECONDS,
    HEARING_SECONDS,
    MAX_PAYLOAD_BYTES,
    PIECE_CHARS,
    ClientStream,
)
from legato.session.inbound import Verdict
from legato.session.lane import Item
from legato.session.states import StreamSignal
from tests.unit.session.ends import PCM, SAMPLES, start_of


def stream_of(task: str = "echo") -> ClientStream:
    return ClientStream(start_of(task=task), AudioFormat(16_000))


def sent(stream: ClientStream) -> list[Item]:
    taken = []
    while (item := stream.out.take(0.0)) is not None:
        taken.append(item)
    return taken


def kinds(items: list[Item]) -> list[str]:
    return [type(item).__name__ for item in items]


def hear(stream: ClientStream, *items: Item) -> list[Item]:
    for item in items:
        assert stream.accept(item.seq or 0, item, 0.0) is Verdict.DELIVERED
    return stream.take_heard(0.0)


def sound(seq: int, utterance: int = 0, sample: int | None = None) -> AudioFrame:
    position = seq * SAMPLES if sample is None else sample
    return AudioFrame(PCM, seq, sample=position, utterance=utterance)


# saying


def test_text_and_audio_open_an_utterance_and_finalize_ends_it() -> None:
    stream = stream_of()
    assert stream.send_text("a") == 0
    assert stream.send_audio(PCM) == 0
    stream.finalize()
    assert stream.send_text("b") == 1
    assert kinds(sent(stream)) == ["Text", "AudioFrame", "Finalize", "Text"]


def test_an_utterance_ends_once() -> None:
    stream = stream_of()
    stream.send_text("a")
    stream.finalize()
    stream.finalize()
    assert stream.send_text("b") == 1


def test_the_last_frame_ends_its_utterance() -> None:
    stream = stream_of()
    stream.send_audio(PCM, last=True)
    assert stream.send_audio(PCM) == 1
    first, second = sent(stream)
    assert isinstance(first, AudioFrame)
    assert isinstance(second, AudioFrame)
    assert (first.last, first.utterance, second.utterance) == (True, 0, 1)


def test_flush_does_not_end_an_utterance() -> None:
    stream = stream_of()
    stream.send_text("a")
    stream.flush()
    assert stream.send_text("b") == 0
    assert kinds(sent(stream)) == ["Text", "Flush", "Text"]


def test_with_nothing_said_there_is_nothing_to_flush_or_end() -> None:
    stream = stream_of()
    stream.flush()
    stream.finalize()
    assert sent(stream) == []
    assert stream.utterance == 0


def test_audio_is_whole_samples() -> None:
    with pytest.raises(BadAudio):
        stream_of().send_audio(b"abc")


def test_a_frame_fits_a_message() -> None:
    stream = stream_of()
    stream.out.samples.grant(10**6)
    stream.send_audio(bytes(MAX_PAYLOAD_BYTES))
    (largest,) = sent(stream)
    assert isinstance(largest, AudioFrame)
    largest.sample, largest.utterance, largest.last = MAX_POSITION, MAX_NUMBER, True
    assert len(encode_frame(largest, MAX_NUMBER, MAX_NUMBER)) <= MAX_MESSAGE_BYTES
    with pytest.raises(MessageTooLarge, match="send 20 ms a frame"):
        stream_of().send_audio(bytes(MAX_PAYLOAD_BYTES + 2))


def test_text_is_what_utf_8_can_say() -> None:
    with pytest.raises(MalformedMessage, match="surrogate"):
        stream_of().send_text("\ud800")


def test_long_text_goes_in_pieces() -> None:
    stream, text = stream_of(), "x" * PIECE_CHARS + "yz"
    stream.send_text(text)
    pieces = [item.text for item in sent(stream) if isinstance(item, Text)]
    assert pieces == ["x" * PIECE_CHARS, "yz"]


def test_empty_text_is_said_too() -> None:
    stream = stream_of()
    stream.send_text("")
    assert sent(stream) == [Text(stream=1, seq=0, text="")]


def test_before_the_first_credit_only_so_much_is_sent() -> None:
    stream = stream_of()
    stream.send_text("x" * (EARLY_CHARS + 1))
    assert sum(len(item.text) for item in sent(stream) if isinstance(item, Text)) == EARLY_CHARS
    stream = stream_of()
    for _ in range(150):
        stream.send_audio(PCM)
    assert len(sent(stream)) == round(EARLY_SECONDS / 0.02)


def test_after_finish_nothing_more_is_said() -> None:
    stream = stream_of()
    stream.send_text("a")
    stream.finish()
    stream.finish()
    stream.flush()
    stream.finalize()
    assert kinds(sent(stream)) == ["Text", "StreamEnd"]
    with pytest.raises(UnexpectedMessage, match="start another"):
        stream.send_text("b")
    with pytest.raises(UnexpectedMessage):
        stream.send_audio(PCM)


# cancelling


def test_cancel_goes_before_all_that_was_not_sent() -> None:
    stream = stream_of()
    stream.send_text("a")
    sent(stream)
    stream.finalize()
    stream.send_text("b")
    stream.cancel(0)
    assert kinds(sent(stream)) == ["Cancel", "Text"]


def test_cancel_waits_for_no_credit() -> None:
    stream = stream_of()
    stream.send_text("x" * (EARLY_CHARS + 1))
    sent(stream)
    stream.cancel(0, played_upto=5)
    (cancel,) = sent(stream)
    assert cancel == Cancel(stream=1, seq=4, utterance=0, played_upto=5)


def test_what_was_not_sent_of_a_cancelled_utterance_never_is() -> None:
    stream = stream_of()
    stream.send_audio(PCM)
    stream.send_text("a")
    stream.flush()
    stream.cancel(0, played_upto=5)
    assert sent(stream) == [
        AudioFrame(b"", 0, last=True),
        Cancel(stream=1, seq=1, utterance=0, played_upto=5),
    ]


def test_cancel_takes_the_utterances_before_with_it_and_leaves_those_after() -> None:
    stream = stream_of()
    for text in ("a", "b", "c"):
        stream.send_text(text)
        stream.finalize()
    stream.send_audio(PCM, last=True)
    stream.send_audio(PCM)
    stream.cancel(1)
    items = sent(stream)
    assert items[:5] == [
        Text(stream=1, seq=0, text=""),
        Cancel(stream=1, seq=1, utterance=0),
        Text(stream=1, seq=2, text=""),
        Cancel(stream=1, seq=3, utterance=1),
        Text(stream=1, seq=4, text="c"),
    ]
    assert kinds(items[5:]) == ["Finalize", "AudioFrame", "AudioFrame"]


def test_what_was_sent_of_a_cancelled_utterance_needs_no_empty_piece() -> None:
    stream = stream_of()
    stream.send_text("a")
    sent(stream)
    stream.send_text("b")
    stream.finalize()
    stream.send_text("c")
    stream.cancel(1)
    assert sent(stream) == [
        Cancel(stream=1, seq=1, utterance=0),
        Text(stream=1, seq=2, text=""),
        Cancel(stream=1, seq=3, utterance=1),
    ]


def test_a_second_cancel_takes_in_the_first() -> None:
    stream = stream_of()
    stream.send_text("a")
    stream.cancel(0)
    stream.send_text("b")
    stream.cancel(1)
    assert sent(stream) == [
        Text(stream=1, seq=0, text=""),
        Cancel(stream=1, seq=1, utterance=0),
        Text(stream=1, seq=2, text=""),
        Cancel(stream=1, seq=3, utterance=1),
    ]


def test_a_second_cancel_of_the_same_says_nothing() -> None:
    stream = stream_of()
    stream.send_text("a")
    sent(stream)
    stream.cancel(0)
    stream.cancel(0)
    assert kinds(sent(stream)) == ["Cancel"]


def test_the_end_of_input_survives_a_cancel() -> None:
    stream = stream_of()
    stream.send_text("a")
    stream.finish()
    stream.cancel(0)
    assert kinds(sent(stream)) == ["Text", "Cancel", "StreamEnd"]


@pytest.mark.parametrize("cancelled", [0, 3])
def test_what_is_said_after_a_cancel_is_another_utterance(cancelled: int) -> None:
    stream = stream_of()
    stream.send_text("a")
    stream.cancel(cancelled)
    assert stream.send_text("b") == 1


def test_where_nothing_was_begun_nothing_is_cancelled() -> None:
    stream = stream_of()
    stream.cancel(3)
    assert sent(stream) == []
    assert stream.send_text("a") == 0
    assert not stream.is_cancelled(sound(0))


def test_a_later_utterance_goes_on_after_a_cancel() -> None:
    stream = stream_of()
    stream.send_text("a")
    stream.finalize()
    stream.send_text("b")
    stream.cancel(0)
    assert stream.send_text("c") == 1


def test_an_utterance_has_no_negative_number() -> None:
    with pytest.raises(ValueError, match="0 or more"):
        stream_of().cancel(-1)


def test_frames_of_cancelled_utterances_are_left_out() -> None:
    stream = stream_of()
    for text in ("a", "b"):
        stream.send_text(text)
        stream.finalize()
    stream.cancel(1)
    heard: list[Item] = [sound(0, 1), Transcript(seq=1, kind="final", text="a"), sound(2, 2)]
    assert stream.without_cancelled(heard) == heard[1:]


# hearing


def test_what_it_holds_is_acknowledged() -> None:
    stream = stream_of()
    hear(stream, sound(0), sound(1))
    stream.played(300, 0.0)
    ack = stream.take_ack(0.0)
    assert (ack.received_seq, ack.committed_seq) == (1, 1)
    assert ack.received_upto == ack.committed_upto == 2 * SAMPLES
    assert ack.played_upto == 300


def test_what_the_application_takes_gives_credit() -> None:
    stream = stream_of()
    stream.consumed(500, 1.0)
    assert stream.ack_at == 1.0
    assert stream.take_ack(1.0).credit_samples == 500 + HEARING_SECONDS * 16_000
    stream.consumed(400, 2.0)
    assert stream.ack_at > 2.0
    assert stream.consumed_upto == 500


def test_positions_and_credit_stay_what_can_be_said() -> None:
    stream = stream_of()
    hear(stream, sound(0, sample=MAX_POSITION))
    stream.consumed(MAX_POSITION, 0.0)
    ack = stream.take_ack(0.0)
    assert ack.received_upto == ack.committed_upto == ack.credit_samples == MAX_POSITION


def test_what_was_heard_never_goes_back() -> None:
    stream = stream_of()
    stream.played(300, 1.0)
    assert stream.ack_at == 1.0
    stream.played(200, 2.0)
    assert stream.played_upto == 300


def test_audio_is_acknowledged_soon_and_control_at_once() -> None:
    stream = stream_of()
    stream.take_ack(0.0)
    stream.accept(0, sound(0), 0.01)
    assert stream.ack_at == pytest.approx(0.1)
    stream.accept(1, Transcript(seq=1, kind="final", text="a"), 0.02)
    assert stream.ack_at == 0.02


def test_an_entry_that_came_before_is_acknowledged_again() -> None:
    stream = stream_of()
    hear(stream, sound(0))
    stream.take_ack(1.0)
    assert stream.accept(0, sound(0), 2.0) is Verdict.DUPLICATE
    assert stream.ack_at == 2.0


def test_the_end_of_a_cancelled_utterance_says_where_it_goes_on() -> None:
    stream = stream_of()
    hear(stream, sound(0))
    ended = UtteranceEnd(seq=9, utterance=0, reason="cancelled", sample=5_000, sent_seq=0)
    assert hear(stream, ended) == [ended]
    assert stream.received_upto == stream.consumed_upto == 5_000
    assert hear(stream, sound(10, 1, sample=5_000))
    assert stream.received_upto == 5_000 + SAMPLES


def test_the_end_of_an_utterance_without_a_hole_changes_nothing() -> None:
    stream = stream_of()
    hear(stream, sound(0), UtteranceEnd(seq=1, utterance=0, reason="done", sample=SAMPLES))
    assert stream.consumed_upto == 0


def test_a_stream_is_intact_if_the_digest_is_over_what_came() -> None:
    stream, chain = stream_of(), Chain()
    hear(stream, sound(0), sound(1))
    assert stream.is_intact(StreamEnd())
    chain.update(PCM)
    assert not stream.is_intact(StreamEnd(digest=chain.hexdigest()))
    chain.update(PCM)
    assert stream.is_intact(StreamEnd(digest=chain.hexdigest()))


# the next epoch


def continuation(stream: ClientStream) -> Continuation:
    assert stream.start.continues is not None
    return stream.start.continues


def test_in_the_next_epoch_numbers_begin_anew_and_positions_go_on() -> None:
    stream = stream_of()
    for _ in range(4):
        stream.send_audio(PCM)
    sent(stream)
    hear(stream, sound(0), sound(1))
    assert stream.begin_epoch(1.0) == []
    assert (stream.epoch, stream.confirmed, stream.inbound.expected) == (1, False, 0)
    again = sent(stream)
    assert [(item.seq, getattr(item, "sample", None)) for item in again] == [
        (0, 2 * SAMPLES),
        (1, 3 * SAMPLES),
    ]
    assert continuation(stream) == Continuation(
        epoch=1, speaking=True, sample=2 * SAMPLES, received_upto=2 * SAMPLES
    )


def test_a_synthesis_says_the_text_of_the_open_utterance_again() -> None:
    stream = stream_of("synthesize")
    for text in ("a", "b"):
        stream.send_text(text)
        stream.finalize()
    stream.finish()
    sent(stream)
    hear(stream, sound(0), UtteranceEnd(seq=1, utterance=0, reason="done", sample=SAMPLES))
    hear(stream, sound(2, 1, sample=SAMPLES))
    stream.begin_epoch(1.0)
    assert kinds(sent(stream)) == ["Text", "Finalize", "StreamEnd"]
    assert continuation(stream) == Continuation(
        epoch=1, utterance=1, utterance_sample=SAMPLES, received_upto=2 * SAMPLES
    )


@pytest.mark.parametrize("how", ["committed", "final"])
def test_a_recognition_says_again_what_no_final_covers(how: str) -> None:
    stream = stream_of("recognize")
    for _ in range(3):
        stream.send_audio(PCM)
    sent(stream)
    upto = SAMPLES + 100
    if how == "committed":
        stream.committed(upto)
    else:
        hear(stream, Transcript(seq=0, kind="partial", text="a", end=3 * SAMPLES))
        hear(stream, Transcript(seq=1, kind="final", text="a", end=upto))
    stream.begin_epoch(1.0)
    first, second = sent(stream)
    assert isinstance(first, AudioFrame)
    assert (first.sample, len(first.payload)) == (upto, len(PCM) - 200)
    assert second.seq == 1
    assert (continuation(stream).sample, continuation(stream).speaking) == (upto, True)


def test_what_is_committed_of_an_echo_is_not_here_yet() -> None:
    stream = stream_of()
    stream.send_audio(PCM)
    sent(stream)
    stream.committed(SAMPLES)
    stream.begin_epoch(1.0)
    assert len(sent(stream)) == 1


def test_where_nothing_is_to_be_said_again_the_next_epoch_begins_with_what_comes() -> None:
    stream = stream_of()
    stream.send_audio(PCM, last=True)
    sent(stream)
    hear(stream, sound(0), UtteranceEnd(seq=1, utterance=0, reason="done", sample=SAMPLES))
    stream.begin_epoch(1.0)
    assert sent(stream) == []
    where = continuation(stream)
    assert (where.utterance, where.speaking, where.sample) == (1, False, SAMPLES)


def test_the_third_epoch_goes_on_from_the_second() -> None:
    stream = stream_of()
    stream.send_audio(PCM)
    stream.send_audio(PCM)
    sent(stream)
    stream.begin_epoch(1.0)
    sent(stream)
    hear(stream, sound(0, sample=0))
    stream.begin_epoch(2.0)
    (again,) = sent(stream)
    assert (again.seq, continuation(stream).epoch, continuation(stream).sample) == (0, 2, SAMPLES)


def test_what_was_cancelled_ends_here_and_is_not_said_again() -> None:
    stream = stream_of("synthesize")
    for text in ("a", "b", "c"):
        stream.send_text(text)
        stream.finalize()
    sent(stream)
    hear(stream, sound(0))
    stream.cancel(1)
    assert stream.begin_epoch(1.0) == [
        UtteranceEnd(utterance=0, reason="cancelled", sample=SAMPLES),
        UtteranceEnd(utterance=1, reason="cancelled", sample=SAMPLES),
    ]
    assert kinds(sent(stream)) == ["Text", "Finalize"]
    where = continuation(stream)
    assert (where.utterance, where.utterance_sample) == (2, SAMPLES)


def test_an_echo_goes_on_behind_what_was_cancelled() -> None:
    stream = stream_of()
    for _ in range(3):
        stream.send_audio(PCM)
    sent(stream)
    stream.cancel(0)
    stream.send_audio(PCM)
    assert stream.begin_epoch(1.0) == [
        UtteranceEnd(utterance=0, reason="cancelled", sample=3 * SAMPLES)
    ]
    (again,) = sent(stream)
    assert isinstance(again, AudioFrame)
    assert (again.sample, stream.received_upto) == (3 * SAMPLES, 3 * SAMPLES)


def test_what_was_said_again_can_be_cancelled() -> None:
    stream = stream_of("synthesize")
    stream.send_text("a")
    sent(stream)
    stream.begin_epoch(1.0)
    stream.cancel(0)
    assert sent(stream) == [Text(stream=1, seq=0, text=""), Cancel(stream=1, seq=1, utterance=0)]


def test_an_utterance_that_ended_early_ends_no_second_time() -> None:
    stream = stream_of("synthesize")
    stream.send_text("a")
    sent(stream)
    failed = UtteranceEnd(seq=0, utterance=0, reason="failed", code="text_too_long")
    assert hear(stream, failed) == [failed]
    stream.begin_epoch(1.0)
    stream.send_text("b")
    stream.finalize()
    stream.send_text("c")
    assert [item.text for item in sent(stream) if isinstance(item, Text)] == ["", "b", "c"]
    assert continuation(stream).utterance == 0
    done = UtteranceEnd(seq=1, utterance=0, reason="done", sample=SAMPLES)
    assert hear(stream, sound(0), done, sound(2, 1)) == [sound(2, 1)]


def test_the_digest_is_of_the_epoch() -> None:
    stream, chain = stream_of("synthesize"), Chain()
    hear(stream, sound(0))
    stream.begin_epoch(1.0)
    hear(stream, sound(0, sample=SAMPLES))
    chain.update(PCM)
    assert stream.is_intact(StreamEnd(digest=chain.hexdigest()))


def test_the_server_owes_an_answer_until_it_gave_one() -> None:
    stream, asking = stream_of(), []
    for signal in (StreamSignal.STARTED, StreamSignal.LOSE, StreamSignal.RESUME):
        asking.append(stream.asking)
        stream.confirmed = True
        stream.signal(signal)
    assert [*asking, stream.asking] == [True, False, False, True]


def test_marks_leave_with_the_number_of_the_stream() -> None:
    stream = stream_of()
    stream.send_text("a")
    stream.flush()
    stream.finalize()
    assert sent(stream)[1:] == [Flush(stream=1, seq=1), Finalize(stream=1, seq=2)]


# codecs

PACKET = bytes([9 << 3]) + b"20 ms"


def coded(codec: str, task: str = "echo") -> ClientStream:
    return ClientStream(start_of(task=task, codec=codec), AudioFormat(16_000))


def test_packets_must_be_of_the_declared_length() -> None:
    stream = coded("opus")
    stream.send_audio(PACKET)
    with pytest.raises(BadAudio, match="holds 10 ms"):
        stream.send_audio(bytes([8 << 3]))
    assert len(sent(stream)) == 1


def test_telephony_has_one_byte_a_sample() -> None:
    stream = coded("mulaw")
    stream.send_audio(bytes(3))
    stream.send_audio(bytes(5))
    first, second = sent(stream)
    assert isinstance(first, AudioFrame)
    assert isinstance(second, AudioFrame)
    assert (first.sample, second.sample) == (0, 3)


def test_what_was_received_ends_where_the_utterance_says() -> None:
    stream = coded("opus", "synthesize")
    hear(stream, AudioFrame(PACKET, 0), AudioFrame(PACKET, 1, True, sample=320))
    assert stream.received_upto == 320  # all of it could yet be lost with the server
    hear(stream, UtteranceEnd(seq=2, utterance=0, reason="done", sample=321))
    assert stream.received_upto == 321


def test_the_end_of_what_is_heard_tells_nothing_of_what_comes_down() -> None:
    stream = coded("opus", "recognize")
    hear(stream, UtteranceEnd(seq=0, utterance=0, reason="done", sample=99))
    assert stream.received_upto == 0


def test_half_a_sample_is_seen_and_a_packet_is_not_looked_into() -> None:
    assert not coded("pcm_s16le").is_whole(bytes(3))
    assert coded("mulaw").is_whole(bytes(3))
    assert coded("opus").is_whole(bytes(3))
