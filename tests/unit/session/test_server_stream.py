import pytest

from legato.audio import AudioFormat
from legato.errors import BadAudio, RateLimited, ResumeGap, TextTooLong, UnexpectedMessage
from legato.flow.digest import Chain
from legato.flow.places import DownPlace, Struck, UpPlace
from legato.protocol.media import AudioFrame
from legato.protocol.messages import (
    Cancel,
    Continuation,
    Finalize,
    Flush,
    StreamEnd,
    Text,
    Transcript,
    UtteranceEnd,
)
from legato.session.inbound import Verdict
from legato.session.lane import Item
from legato.session.server_stream import (
    WINDOW_CHARS,
    WINDOW_ENTRIES,
    WINDOW_SECONDS,
    ServerStream,
)
from legato.session.states import StreamSignal, StreamState
from tests.unit.session.ends import PCM, SAMPLES, start_of

SECOND = bytes(32_000)


def stream_of(framing: str = "protobuf") -> ServerStream:
    stream = ServerStream(start_of(framing=framing), AudioFormat(16_000))
    stream.signal(StreamSignal.STARTED)
    return stream


def take(stream: ServerStream, *items: Item) -> list[Item]:
    for seq, item in enumerate(items, stream.inbound.expected):
        assert stream.take(seq, item, 0.0) is Verdict.DELIVERED
    return stream.take_for_log()


def utterances(items: list[Item]) -> list[int]:
    return [item.utterance for item in items if isinstance(item, AudioFrame)]


def down(stream: ServerStream) -> list[int | None]:
    """Numbers of what is sent now."""
    numbers = []
    while (item := stream.out.take(0.0)) is not None:
        numbers.append(item.seq)
    return numbers


# up


def test_frames_get_their_place_by_our_own_count() -> None:
    first, second = take(stream_of(), AudioFrame(PCM, stream=1, sample=7), AudioFrame(PCM))
    assert isinstance(first, AudioFrame)
    assert isinstance(second, AudioFrame)
    assert (first.stream, first.sample, second.sample) == (0, 0, SAMPLES)


def test_utterances_are_counted_by_their_ends() -> None:
    items = take(
        stream_of(),
        Finalize(),
        AudioFrame(PCM),
        Finalize(),
        Finalize(),
        AudioFrame(PCM, last=True),
        AudioFrame(PCM),
    )
    assert utterances(items) == [0, 1, 2]


def test_text_opens_an_utterance() -> None:
    items = take(stream_of(), Text(text="a"), Flush(), Finalize(), AudioFrame(PCM))
    assert utterances(items) == [1]


@pytest.mark.parametrize("cancelled", [0, 4, 2**32 - 1])
def test_what_follows_a_cancel_is_another_utterance(cancelled: int) -> None:
    cancel = Cancel(utterance=cancelled)
    stream = stream_of()
    items = take(stream, AudioFrame(PCM), cancel, AudioFrame(PCM))
    assert utterances(items) == [0, 1]
    assert cancel.utterance == 0
    stream.relay([AudioFrame(PCM, 0), AudioFrame(PCM, 1, utterance=1)])
    assert down(stream) == [1]


def test_what_has_ended_up_can_be_cancelled_while_it_is_answered() -> None:
    stream, cancel = stream_of(), Cancel(utterance=7)
    take(stream, AudioFrame(PCM, last=True), cancel)
    assert cancel.utterance == 0
    stream.relay([AudioFrame(PCM, 0), AudioFrame(PCM, 1, utterance=1)])
    assert down(stream) == [1]


def test_what_has_not_begun_is_not_cancelled() -> None:
    stream = stream_of()
    take(stream, Cancel(utterance=0), Text(text="a"))
    stream.relay([AudioFrame(PCM, 0)])
    assert down(stream) == [0]


def test_the_cancel_of_an_older_utterance_leaves_the_present_one() -> None:
    items = take(
        stream_of(),
        AudioFrame(PCM, last=True),
        AudioFrame(PCM),
        Cancel(utterance=0),
        AudioFrame(PCM),
    )
    assert utterances(items) == [0, 1, 1]


def test_with_nothing_there_nothing_is_taken() -> None:
    assert stream_of().take_for_log() == []


def test_raw_entries_are_numbered_here() -> None:
    stream, frame, end = stream_of("raw"), AudioFrame(PCM), StreamEnd()
    stream.take(None, frame, 0.0)
    stream.take(None, end, 0.0)
    assert [item.seq for item in stream.take_for_log()] == [0, 1]


def test_audio_that_ends_in_the_middle_of_a_sample_is_refused() -> None:
    with pytest.raises(BadAudio, match="641 bytes are not whole samples"):
        stream_of().take(0, AudioFrame(bytes(641)), 0.0)


def test_text_longer_than_an_utterance_may_be_is_refused() -> None:
    stream = stream_of()
    stream.max_text_chars = 10
    with pytest.raises(TextTooLong, match="11 characters is above 10"):
        stream.take(0, Text(text="x" * 11), 0.0)


def test_nothing_but_cancel_follows_the_end() -> None:
    stream = stream_of()
    take(stream, StreamEnd(), Cancel(utterance=0))
    with pytest.raises(UnexpectedMessage):
        stream.take(2, AudioFrame(PCM), 0.0)


def test_the_end_of_the_input_may_tell_what_was_sent() -> None:
    chain = Chain()
    for payload in (PCM, PCM[:2]):
        chain.update(payload)
    end = StreamEnd(frames=2, samples=SAMPLES + 1, digest=chain.hexdigest())
    assert take(stream_of(), AudioFrame(PCM), AudioFrame(PCM[:2]), end)[-1] is end


@pytest.mark.parametrize(
    ("end", "said"),
    [
        (StreamEnd(frames=2), "frames 2, what arrived has 1"),
        (StreamEnd(samples=0), "samples 0, what arrived has 320"),
        (StreamEnd(digest="0" * 64), "digest 0000"),
    ],
)
def test_an_end_that_tells_something_else_is_refused(end: StreamEnd, said: str) -> None:
    with pytest.raises(BadAudio, match=said):
        take(stream_of(), AudioFrame(PCM), end)


def test_audio_beyond_the_credit_is_refused() -> None:
    stream = stream_of()
    take(stream, *(AudioFrame(SECOND) for _ in range(round(WINDOW_SECONDS))))
    with pytest.raises(RateLimited):
        take(stream, AudioFrame(PCM))


def test_text_beyond_the_credit_is_refused() -> None:
    stream = stream_of()
    take(stream, Text(text="x" * WINDOW_CHARS))
    with pytest.raises(RateLimited):
        take(stream, Text(text="x"))


def test_what_is_done_with_gives_credit() -> None:
    stream = stream_of()
    take(stream, *(AudioFrame(SECOND) for _ in range(30)), Text(text="x" * WINDOW_CHARS))
    stream.committed(30, 16_000, 5, 0.0)
    take(stream, AudioFrame(SECOND), Text(text="x" * 5))


def test_entries_are_bounded_however_small_they_are() -> None:
    stream = stream_of()
    take(stream, *(Flush() for _ in range(WINDOW_ENTRIES)))
    with pytest.raises(RateLimited, match="32769 entries"):
        take(stream, Flush())


def test_a_raw_client_knows_no_credit_and_is_read_from_slower() -> None:
    stream, congested = stream_of("raw"), []
    for seconds, done in ((15, 0), (20, 0), (0, 20)):
        take(stream, *(AudioFrame(SECOND) for _ in range(seconds)))
        stream.committed(0, done * 16_000, 0, 0.0)
        congested.append(stream.congested)
    assert congested == [False, True, False]


def test_a_raw_client_is_read_from_slower_for_its_text_too() -> None:
    stream, congested = stream_of("raw"), []
    for chars in (WINDOW_CHARS // 2, 1, WINDOW_CHARS):
        take(stream, Text(text="x" * chars))
        congested.append(stream.congested)
    assert congested == [False, True, True]
    stream.committed(1, 0, WINDOW_CHARS + 1, 0.0)
    assert not stream.congested


def test_a_raw_client_that_is_read_from_all_the_same_is_refused() -> None:
    stream = stream_of("raw")
    take(stream, *(AudioFrame(SECOND) for _ in range(46)))
    with pytest.raises(RateLimited):
        take(stream, AudioFrame(SECOND))


# acks


def test_received_is_what_the_log_holds() -> None:
    stream = stream_of()
    take(stream, AudioFrame(PCM))
    take(stream, AudioFrame(PCM))
    assert stream.take_ack(0.0).received_seq == -1
    stream.stored(0, 1.0)
    ack = stream.take_ack(1.0)
    assert (ack.received_seq, ack.received_upto) == (0, SAMPLES)
    stream.stored(1, 2.0)
    assert stream.take_ack(2.0).received_upto == 2 * SAMPLES


def test_audio_is_acknowledged_soon_and_control_at_once() -> None:
    stream = stream_of()
    stream.take_ack(0.0)
    take(stream, AudioFrame(PCM))
    stream.stored(0, 0.01)
    assert stream.ack_at == pytest.approx(0.1)
    take(stream, Finalize())
    stream.stored(1, 0.02)
    assert stream.ack_at == 0.02


def test_what_is_done_with_is_acknowledged() -> None:
    stream = stream_of()
    take(stream, AudioFrame(PCM))
    stream.committed(0, SAMPLES, 0, 5.0)
    assert stream.ack_at == 5.0


def test_committed_is_what_a_worker_is_done_with() -> None:
    stream = stream_of()
    take(stream, AudioFrame(PCM), Text(text="ab"))
    stream.committed(1, SAMPLES, 2, 0.0)
    stream.committed(0, 0, 0, 0.0)
    ack = stream.take_ack(0.0)
    assert (ack.committed_seq, ack.committed_upto) == (1, SAMPLES)
    assert ack.credit_samples == SAMPLES + WINDOW_SECONDS * 16_000
    assert ack.credit_chars == 2 + WINDOW_CHARS


def test_it_describes_itself_as_it_runs() -> None:
    stream = stream_of()
    stream.engine, stream.voice = "e", "v"
    take(stream, AudioFrame(PCM))
    stream.stored(0, 0.0)
    started = stream.started()
    assert (started.stream, started.stream_id, started.engine, started.voice) == (1, "a", "e", "v")
    assert (started.received_seq, started.committed_seq) == (0, -1)
    assert started.credit_samples == WINDOW_SECONDS * 16_000
    assert started.resumable
    assert not stream_of("raw").started().resumable


# down


def test_a_worker_is_relayed_until_its_utterance_is_cancelled() -> None:
    stream = stream_of()
    stream.relay_frame(AudioFrame(PCM, 0))
    stream.relay([AudioFrame(PCM, 1)])
    take(stream, Text(text="a"), Cancel(utterance=0))
    stream.relay_frame(AudioFrame(PCM, 2))
    stream.relay_frame(AudioFrame(PCM, 3, utterance=1))
    assert down(stream) == [3]


def test_the_end_that_was_sent_is_known() -> None:
    stream = stream_of()
    stream.relay([StreamEnd(seq=0)])
    assert (stream.end, stream.end_seq) == (None, -1)
    stream.out.take(0.0)
    assert stream.end is not None
    assert stream.end_seq == 0


def test_the_number_of_an_end_may_be_given_here() -> None:
    stream = stream_of()
    stream.relay([UtteranceEnd(utterance=0, reason="done"), StreamEnd()])
    stream.out.take(0.0)
    stream.out.take(0.0)
    assert stream.end_seq == 1


# between connections


def test_its_tokens_resume_it_and_no_others() -> None:
    stream = stream_of()
    stream.tokens = ("one", "two")
    assert stream.admits("one")
    assert stream.admits("two")
    assert not stream.admits("three")
    assert not stream.admits("ü")


def test_a_sign_of_the_client_leaves_only_the_last_token() -> None:
    stream = stream_of()
    stream.tokens = ("one", "two")
    for _ in range(2):
        stream.acquaint("two")
        assert stream.acquainted
        assert list(stream.tokens) == ["two"]


def test_it_goes_on_where_the_client_left_off() -> None:
    stream = stream_of()
    stream.relay([AudioFrame(PCM, 0), AudioFrame(PCM, 1)])
    stream.out.take(0.0)
    stream.out.take(0.0)
    stream.signal(StreamSignal.LOSE)
    stream.go_on(5, 0, ("one", "two"), 3.0)
    assert stream.state is StreamState.OPEN
    assert (stream.number, stream.start.stream) == (5, 5)
    assert stream.tokens == ("one", "two")
    assert stream.ack_at == 3.0
    again = stream.out.take(3.0)
    assert again is not None
    assert again.seq == 1


def test_what_the_client_holds_is_kept_no_more() -> None:
    stream = stream_of()
    stream.relay([AudioFrame(PCM, 0), AudioFrame(PCM, 1)])
    stream.out.take(0.0)
    stream.out.take(0.0)
    stream.signal(StreamSignal.LOSE)
    stream.go_on(1, 0, ("one",), 3.0)
    assert stream.out.kept_samples == SAMPLES


def test_after_it_went_on_the_next_gap_is_told() -> None:
    stream = stream_of()
    assert stream.take(3, AudioFrame(PCM), 0.0) is Verdict.GAP
    stream.signal(StreamSignal.LOSE)
    stream.go_on(1, -1, ("one",), 0.0)
    assert stream.take(3, AudioFrame(PCM), 0.0) is Verdict.GAP


def test_under_the_same_number_its_start_stays_what_it_was() -> None:
    stream = stream_of()
    start = stream.start
    stream.signal(StreamSignal.LOSE)
    stream.go_on(1, -1, ("one",), 0.0)
    assert stream.start is start


def test_if_it_cannot_go_on_it_stays_as_it_was() -> None:
    stream = stream_of()
    stream.relay([AudioFrame(PCM, 0)])
    stream.out.take(0.0)
    stream.out.acknowledge(0, 0, 0.0)
    stream.signal(StreamSignal.LOSE)
    with pytest.raises(ResumeGap):
        stream.go_on(5, -1, ("one",), 0.0)
    assert stream.state is StreamState.SUSPENDED
    assert stream.number == 1


def test_an_ack_that_is_owed_is_owed_once() -> None:
    stream = stream_of()
    take(stream, AudioFrame(PCM))
    take(stream, AudioFrame(PCM))
    stream.stored(0, 1.0)
    stream.stored(1, 2.0)
    assert stream.ack_at == 1.0
    assert stream.up_place.seq == 1


def test_nothing_that_was_not_sent_is_ignored() -> None:
    assert not stream_of().is_ignored(1_000.0)


# from another server


def test_up_goes_on_behind_what_the_log_holds() -> None:
    stream = stream_of()
    behind: list[Item] = [AudioFrame(PCM, 5), Text(seq=6, text="ab"), AudioFrame(PCM, 7)]
    stream.restore_up(UpPlace(4, 1000, 10, 2, True), behind, 3.0)
    assert stream.take_for_log() == []
    assert stream.up_place == UpPlace(7, 1000 + 2 * SAMPLES, 12, 2, True)
    assert stream.take_ack(3.0).received_seq == 7
    (frame,) = take(stream, AudioFrame(PCM))
    assert isinstance(frame, AudioFrame)
    assert (frame.sample, frame.utterance) == (1000 + 2 * SAMPLES, 2)


def test_with_nothing_behind_it_the_place_is_where_up_stands() -> None:
    stream = stream_of()
    place = UpPlace(4, 1000, 10, 2, True)
    stream.restore_up(place, [], 3.0)
    assert stream.up_place == place
    assert (stream.inbound.expected, stream.received_upto) == (5, 1000)
    assert (stream.samples.received, stream.chars.received) == (1000, 10)


def test_what_was_read_of_the_log_is_stored() -> None:
    stream = stream_of()
    stream.restore_up(UpPlace(), [Text(seq=0, text="a"), Cancel(seq=1, utterance=0)], 3.0)
    assert stream.cancels == 1
    assert not stream.is_held


def test_down_goes_on_without_what_was_struck() -> None:
    stream = stream_of()
    stream.relay([AudioFrame(PCM, 0), AudioFrame(PCM, 1)])
    stream.relay([UtteranceEnd(seq=2, utterance=0, reason="done")])
    stream.restore_up(UpPlace(), [Text(seq=0, text="a"), Cancel(seq=1, utterance=0)], 0.0)
    stream.restore_down(DownPlace(), [Struck(0, 0)], received_seq=0, now=0.0)
    assert list(stream.struck) == [Struck(0, 0)]
    assert down(stream) == [2]
    stream.out.acknowledge(2, 2, 0.0)
    assert stream.take_down_place() is not None
    assert list(stream.struck) == []
    assert stream.take_down_place() is None


def test_a_cancel_holds_down_until_it_is_stored() -> None:
    stream = stream_of()
    stream.relay([AudioFrame(PCM, 0), UtteranceEnd(seq=1, utterance=0, reason="done")])
    take(stream, Text(text="a"), Cancel(utterance=0))
    held = [stream.is_held]
    assert down(stream) == []
    stream.stored(1, 0.0)
    held.append(stream.is_held)
    assert held == [True, False]
    assert down(stream) == [1]


# where a client goes on


def test_a_stream_begins_where_its_client_goes_on() -> None:
    where = Continuation(
        epoch=3, utterance=2, speaking=True, sample=1_000, utterance_sample=50, received_upto=400
    )
    stream = ServerStream(start_of(continues=where), AudioFormat(16_000))
    started, ack = stream.started(), stream.take_ack(0.0)
    assert (started.epoch, started.received_seq) == (3, -1)
    assert started.credit_samples == 1_000 + WINDOW_SECONDS * 16_000
    assert (ack.received_upto, ack.committed_upto) == (1_000, 1_000)
    frame, _, after = take(stream, AudioFrame(PCM), Finalize(), AudioFrame(PCM))
    assert isinstance(frame, AudioFrame)
    assert isinstance(after, AudioFrame)
    assert (frame.seq, frame.sample, frame.utterance, after.utterance) == (0, 1_000, 2, 3)
    stream.relay([StreamEnd(seq=0)])
    down(stream)
    assert stream.end is not None
    assert stream.end.samples == 400


# what is committed


def final(seq: int) -> Transcript:
    return Transcript(seq=seq, kind="final", text="a")


def test_nothing_is_committed_by_a_final_that_has_not_left() -> None:
    stream = stream_of()
    stream.relay([final(0)])
    stream.committed(0, 100, 0, 0.0)
    told = [stream.take_ack(0.0).committed_upto]
    down(stream)
    told.append(stream.take_ack(0.0).committed_upto)
    stream.relay([final(1)])
    stream.committed(1, 200, 0, 0.0)
    stream.committed(2, 250, 0, 0.0)
    told.append(stream.take_ack(0.0).committed_upto)
    down(stream)
    told.append(stream.take_ack(0.0).committed_upto)
    assert told == [0, 100, 100, 250]


def test_nothing_is_committed_by_a_final_that_is_to_be_sent_again() -> None:
    stream = stream_of()
    for seq in range(2):
        stream.relay([final(seq)])
        stream.committed(seq, 100 + seq, 0, 0.0)
    down(stream)
    stream.out.acknowledge(0, 0, 0.0)
    assert stream.take_ack(0.0).committed_upto == 101
    stream.out.rewind(1, 0.0)
    assert stream.take_ack(0.0).committed_upto == 100
    down(stream)
    assert stream.take_ack(0.0).committed_upto == 101


def test_on_a_link_that_reorders_only_what_has_come_commits() -> None:
    stream = ServerStream(start_of(), AudioFormat(16_000), reliable=False)
    stream.relay([final(0)])
    stream.committed(0, 100, 0, 0.0)
    down(stream)
    told = [stream.take_ack(0.0).committed_upto]
    stream.out.acknowledge(0, 0, 0.0)
    told.append(stream.take_ack(0.0).committed_upto)
    assert told == [0, 100]


def test_what_the_client_holds_stays_committed() -> None:
    stream = stream_of()
    for seq in range(100):
        stream.relay([final(seq)])
        stream.committed(seq, seq + 1, 0, 0.0)
    down(stream)
    stream.out.acknowledge(99, 99, 0.0)
    assert [stream.take_ack(0.0).committed_upto for _ in range(2)] == [100, 100]


# codecs


def coded(codec: str) -> ServerStream:
    stream = ServerStream(start_of(codec=codec), AudioFormat(16_000))
    stream.signal(StreamSignal.STARTED)
    return stream


def test_packets_must_be_of_the_declared_length() -> None:
    stream = coded("opus")
    first, second = take(stream, AudioFrame(bytes([9 << 3])), AudioFrame(bytes([9 << 3])))
    assert isinstance(first, AudioFrame)
    assert isinstance(second, AudioFrame)
    assert (first.sample, second.sample, stream.received_upto) == (0, 320, 640)
    with pytest.raises(BadAudio, match="holds 10 ms"):
        stream.take(2, AudioFrame(bytes([8 << 3])), 0.0)


def test_telephony_has_one_byte_a_sample() -> None:
    stream = coded("alaw")
    take(stream, AudioFrame(bytes(3)))
    assert stream.received_upto == 3
