import pytest

from legato.errors import (
    BadAudio,
    EngineFailed,
    MalformedMessage,
    MessageTooLarge,
    Overloaded,
    ResumeGap,
    SessionExpired,
    StreamExists,
    UnexpectedMessage,
    UnsupportedFormat,
)
from legato.flow.digest import Chain
from legato.protocol.codec import encode
from legato.protocol.media import AudioFrame
from legato.protocol.messages import (
    Ack,
    Cancel,
    Continuation,
    Draining,
    Error,
    FlowControl,
    Hello,
    Message,
    Notice,
    Ping,
    Resume,
    Resumed,
    Stop,
    StreamEnd,
    StreamStart,
    Text,
    Transcript,
    UtteranceEnd,
)
from legato.session.client import REMEMBERED, ClientSession
from legato.session.client_stream import ClientStream
from legato.session.events import (
    Noticed,
    Progressed,
    Received,
    ResumeRefused,
    StreamFailed,
    StreamFinished,
    StreamOpened,
    StreamRecovered,
)
from legato.session.lane import RESEND_AFTER
from legato.session.states import StreamState
from legato.session.stream import REORDER_WAIT
from tests.unit.session.ends import (
    HELLO,
    PCM,
    SAMPLES,
    connected_client,
    frame_of,
    only,
    open_stream,
    said,
    start_of,
    started_of,
    welcome_of,
)

EXPIRED = Error(code="session_expired", stream=1)


def reconnect(client: ClientSession, token: str = "token-2") -> list[Message | AudioFrame]:
    """Lose the connection and get another; what the client says to that."""
    client.disconnected(1.0)
    client.connected(1.0)
    client.receive(encode(welcome_of(token)), 1.0)
    return said(client, 1.0)


def hear(client: ClientSession, *data: bytes | Message) -> None:
    for item in data:
        client.receive(item if isinstance(item, bytes) else encode(item), 0.0)


def final(seq: int, text: str = "a") -> Transcript:
    return Transcript(stream=1, seq=seq, kind="final", text=text)


def kinds(messages: list[Message | AudioFrame]) -> list[str]:
    return [type(message).__name__ for message in messages]


# starting


def test_hello_start_and_input_go_in_one_flight() -> None:
    client = ClientSession(HELLO)
    client.connected(0.0)
    client.start(start_of()).send_text("a")
    assert kinds(said(client)) == ["Hello", "StreamStart", "Text"]


def test_a_stream_can_be_started_before_there_is_a_connection() -> None:
    client = ClientSession(HELLO)
    client.start(start_of()).send_text("a")
    assert said(client) == []
    client.connected(0.0)
    assert kinds(said(client)) == ["Hello", "StreamStart", "Text"]


def test_the_session_numbers_its_streams() -> None:
    client = connected_client()
    streams = [client.start(start_of(9, name)) for name in ("a", "b")]
    assert [stream.number for stream in streams] == [1, 2]
    starts = [message for message in said(client) if isinstance(message, StreamStart)]
    assert [start.stream for start in starts] == [1, 2]


def test_what_no_server_could_serve_is_refused_here() -> None:
    with pytest.raises(UnsupportedFormat):
        connected_client().start(start_of(sample_rate=1))
    with pytest.raises(MalformedMessage):
        connected_client().start(start_of(task="sing"))


def test_started_opens_the_stream_and_gives_credit() -> None:
    client = connected_client()
    stream = client.start(start_of())
    started = started_of(1, credit_samples=10**6, credit_chars=10**5, epoch=2)
    hear(client, started)
    assert client.take_events() == [StreamOpened(stream, started)]
    assert stream.state is StreamState.OPEN
    assert stream.epoch == 2
    assert (stream.out.samples.limit, stream.out.chars.limit) == (10**6, 10**5)


def test_started_is_answered_so_that_the_server_knows_that_it_arrived() -> None:
    client = connected_client()
    client.start(start_of())
    client.take_frames(0.0)
    hear(client, started_of())
    assert kinds(said(client)) == ["Ack"]


def test_a_second_started_is_not_told() -> None:
    client = connected_client()
    open_stream(client)
    hear(client, started_of())
    assert client.take_events() == []


def test_a_refused_stream_fails() -> None:
    client = connected_client()
    stream = client.start(start_of())
    hear(client, Error(code="engine_failed", stream=1, message="no"))
    failed = only(StreamFailed, client.take_events())
    assert failed.stream is stream
    assert isinstance(failed.error, EngineFailed)
    assert client.streams == {}


@pytest.mark.parametrize(
    "message",
    [
        started_of(9),
        Ack(stream=9),
        Notice(stream=9, kind="queued"),
        Error(code="internal", stream=9),
        Resumed(stream=9, recovered=True),
        Transcript(stream=9, seq=0, kind="final", text="a"),
    ],
    ids=lambda message: type(message).__name__,
)
def test_a_word_about_a_stream_that_is_gone_is_ignored(message: Message) -> None:
    client = connected_client()
    open_stream(client)
    hear(client, message)
    assert client.take_events() == []


# hearing


def test_what_comes_is_told_once_and_in_order() -> None:
    client = connected_client()
    stream = open_stream(client)
    hear(client, frame_of(0), frame_of(0), final(1))
    events = client.take_events()
    items = [item for event in events if isinstance(event, Received) for item in event.items]
    assert [item.seq for item in items] == [0, 1]
    assert stream.received_upto == SAMPLES


def test_an_entry_without_a_number_breaks_the_rules() -> None:
    client = connected_client()
    open_stream(client)
    with pytest.raises(UnexpectedMessage):
        hear(client, Transcript(stream=1, kind="final", text="a"))


def test_an_ack_gives_credit_and_is_told() -> None:
    client = connected_client()
    stream = open_stream(client)
    hear(client, Ack(stream=1, credit_samples=10**6, credit_chars=10**5))
    assert client.take_events() == [Progressed(stream)]
    assert stream.out.samples.limit == 10**6


def test_a_notice_is_told() -> None:
    client = connected_client()
    stream = open_stream(client)
    notice = Notice(stream=1, kind="queued", position=3)
    hear(client, notice)
    assert client.take_events() == [Noticed(stream, notice)]


def test_audio_that_ends_in_the_middle_of_a_sample_ends_its_stream() -> None:
    client = connected_client()
    open_stream(client)
    hear(client, frame_of(0, bytes(641)))
    assert isinstance(only(StreamFailed, client.take_events()).error, BadAudio)
    assert said(client) == [Stop(stream=1)]


def test_the_end_is_told_with_what_came_before_it() -> None:
    client = connected_client()
    stream = open_stream(client)
    chain = Chain()
    chain.update(PCM)
    end = StreamEnd(stream=1, seq=1, frames=1, digest=chain.hexdigest())
    hear(client, frame_of(0), end)
    *_, received, finished = client.take_events()
    assert received == Received(stream, [end])
    assert finished == StreamFinished(stream, end, intact=True)
    assert only(Ack, said(client)).received_seq == 1
    assert client.streams == {}


def test_a_wrong_digest_is_told() -> None:
    client = connected_client()
    open_stream(client)
    hear(client, StreamEnd(stream=1, seq=0, digest="0" * 63 + "1"))
    assert not only(StreamFinished, client.take_events()).intact


def test_an_end_that_comes_again_is_acknowledged_again() -> None:
    client = connected_client()
    open_stream(client)
    hear(client, StreamEnd(stream=1, seq=0))
    first = said(client)
    hear(client, StreamEnd(stream=1, seq=0))
    assert said(client) == first


def test_only_so_many_ends_are_remembered() -> None:
    client = connected_client()
    for number in range(1, REMEMBERED + 2):
        client.start(start_of())
        hear(client, started_of(number), StreamEnd(stream=number, seq=0))
    client.take_frames(0.0)
    hear(client, StreamEnd(stream=1, seq=0))
    assert said(client) == []
    hear(client, StreamEnd(stream=2, seq=0))
    assert kinds(said(client)) == ["Ack"]


# cancelling and stopping


def test_what_came_before_a_cancel_and_was_not_told_is_not_told() -> None:
    client = connected_client()
    stream = open_stream(client)
    stream.send_text("a")
    hear(client, frame_of(0), final(1), frame_of(2))
    stream.cancel(0)
    received = [event for event in client.take_events() if isinstance(event, Received)]
    assert [item.seq for event in received for item in event.items] == [1]


def test_a_cancelled_utterance_leaves_no_trace_of_its_frames() -> None:
    client = connected_client()
    stream = open_stream(client)
    stream.send_text("a")
    stream.cancel(0)
    ended = UtteranceEnd(
        stream=1, seq=5, utterance=0, reason="cancelled", sample=9 * SAMPLES, sent_seq=1
    )
    hear(client, frame_of(0), frame_of(1), ended, frame_of(6, utterance=1, sample=9 * SAMPLES))
    received = [event for event in client.take_events() if isinstance(event, Received)]
    assert [item.seq for event in received for item in event.items] == [5, 6]


def test_stop_tells_the_server_and_nothing_more_is_told() -> None:
    client = connected_client()
    stream = open_stream(client)
    hear(client, frame_of(0))
    client.stop(stream)
    assert client.take_events() == []
    assert said(client) == [Stop(stream=1)]
    assert stream.over
    hear(client, frame_of(1))
    assert client.take_events() == []


def test_a_stream_is_stopped_once() -> None:
    client = connected_client()
    stream = open_stream(client)
    for _ in range(2):
        client.stop(stream)
    assert said(client) == [Stop(stream=1)]


def test_a_stream_can_be_stopped_without_a_connection() -> None:
    client = connected_client()
    stream = open_stream(client)
    client.disconnected(1.0)
    client.stop(stream)
    client.connected(2.0)
    assert said(client) == [HELLO]


# pace


def test_a_pace_for_all_is_asked_for_now_and_after_a_reconnection() -> None:
    client = connected_client()
    client.pace(2.0)
    assert said(client) == [FlowControl(rate=2.0)]
    assert FlowControl(rate=2.0) in reconnect(client)


def test_a_pace_for_all_waits_for_the_session() -> None:
    client = ClientSession(HELLO)
    client.connected(0.0)
    client.take_frames(0.0)
    client.pace(2.0)
    assert said(client) == []
    hear(client, welcome_of())
    assert said(client) == [FlowControl(rate=2.0)]


def test_a_pace_for_one_waits_for_its_stream() -> None:
    client = connected_client()
    stream = client.start(start_of())
    client.take_frames(0.0)
    client.pace(2.0, stream)
    assert said(client) == []
    hear(client, started_of())
    assert FlowControl(rate=2.0, stream=1) in said(client)
    client.pace(3.0, stream)
    assert said(client) == [FlowControl(rate=3.0, stream=1)]


def test_a_pace_for_one_is_asked_for_again_when_it_is_resumed() -> None:
    client = connected_client()
    client.pace(2.0, open_stream(client))
    reconnect(client)
    hear(client, Resumed(stream=1, recovered=True))
    assert FlowControl(rate=2.0, stream=1) in said(client)


def test_the_pace_of_the_server_holds_for_later_streams() -> None:
    client = connected_client()
    hear(client, FlowControl(rate=0.0))
    client.start(start_of()).send_audio(PCM)
    assert kinds(said(client)) == ["StreamStart"]


# resuming


def test_a_stream_is_resumed_with_the_token_of_its_connection() -> None:
    client = connected_client()
    stream = open_stream(client)
    stream.send_text("a")
    client.take_frames(0.0)
    hear(client, frame_of(0))
    assert reconnect(client) == [
        HELLO,
        Resume(stream=1, stream_id="a", token="token-1", received_seq=0, sent_seq=0),
    ]
    assert stream.state is StreamState.RESUMING


def test_nothing_of_a_stream_leaves_before_it_is_resumed() -> None:
    client = connected_client()
    stream = open_stream(client)
    reconnect(client)
    stream.send_text("a")
    assert said(client) == []


def test_resumed_goes_on_after_what_the_server_holds() -> None:
    client = connected_client()
    stream = open_stream(client)
    for text in ("a", "b", "c"):
        stream.send_text(text)
    client.take_frames(0.0)
    reconnect(client)
    hear(client, Resumed(stream=1, recovered=True, received_seq=0, epoch=0))
    assert client.take_events()[-1] == StreamRecovered(stream)
    texts = [item.text for item in said(client, 1.0) if isinstance(item, Text)]
    assert texts == ["b", "c"]


def test_a_stream_that_waits_for_its_start_is_resumed_too() -> None:
    client = ClientSession(HELLO)
    client.connected(0.0)
    client.start(start_of())
    hear(client, welcome_of())
    client.take_frames(0.0)
    assert only(Resume, reconnect(client)).token == "token-1"


def test_resumed_is_answered_so_that_the_server_knows_that_it_arrived() -> None:
    client = connected_client()
    open_stream(client)
    hear(client, frame_of(0))
    reconnect(client)
    hear(client, Resumed(stream=1, recovered=True))
    assert only(Ack, said(client, 1.0)).received_seq == 0


def test_resumed_names_the_epoch() -> None:
    client = connected_client()
    stream = open_stream(client)
    reconnect(client)
    hear(client, Resumed(stream=1, recovered=True, epoch=3))
    assert stream.epoch == 3


def test_what_the_server_held_when_it_resumed_is_not_repeated() -> None:
    client = connected_client(reliable=False)
    stream = open_stream(client)
    for text in ("a", "b"):
        stream.send_text(text)
    client.take_frames(0.0)
    reconnect(client)
    client.receive(encode(Resumed(stream=1, recovered=True, received_seq=0)), 1.0)
    client.take_frames(1.0)
    client.handle_timer(1.0 + RESEND_AFTER)
    texts = [item.text for item in said(client, 1.0 + RESEND_AFTER) if isinstance(item, Text)]
    assert texts == ["b"]


def test_until_resumed_came_the_old_token_is_shown() -> None:
    client = connected_client()
    open_stream(client)
    reconnect(client, "token-2")
    assert only(Resume, reconnect(client, "token-3")).token == "token-1"
    hear(client, Resumed(stream=1, recovered=True))
    assert only(Resume, reconnect(client, "token-4")).token == "token-3"


def test_a_draining_server_may_give_another_token() -> None:
    client = connected_client()
    open_stream(client)
    hear(client, Draining(deadline=1.0, resume_token="elsewhere"))
    assert only(Resume, reconnect(client)).token == "elsewhere"


def test_a_stream_that_waits_to_be_resumed_keeps_its_token_when_the_server_drains() -> None:
    client = connected_client()
    open_stream(client)
    reconnect(client)
    hear(client, Draining(deadline=1.0, resume_token="elsewhere"), Draining(deadline=1.0))
    assert only(Resume, reconnect(client)).token == "token-1"


def test_a_stream_that_a_draining_server_refused_keeps_its_token() -> None:
    client = connected_client()
    open_stream(client)
    reconnect(client, "token-2")
    hear(client, Error(code="draining", stream=1), Draining(deadline=1.0, resume_token="token-2"))
    assert only(Resume, reconnect(client, "token-3")).token == "token-1"


def test_history_that_the_server_lost_is_a_gap() -> None:
    client = connected_client()
    open_stream(client)
    reconnect(client)
    client.take_events()
    hear(client, Resumed(stream=1, recovered=False, missing=(0, 99)))
    error = only(StreamFailed, client.take_events()).error
    assert isinstance(error, ResumeGap)
    assert error.missing == (0, 99)
    assert said(client) == [Stop(stream=1)]


def test_resumed_without_being_asked_for_is_ignored() -> None:
    client = connected_client()
    open_stream(client)
    hear(client, Resumed(stream=1, recovered=False))
    assert client.take_events() == []


def test_a_stream_cut_off_before_welcome_is_started_again() -> None:
    client = ClientSession(HELLO)
    client.connected(0.0)
    client.start(start_of()).send_text("a")
    first = said(client)
    client.disconnected(0.0)
    client.connected(1.0)
    assert said(client, 1.0) == first


def test_a_start_that_the_server_never_saw_is_said_again() -> None:
    client = connected_client()
    stream = client.start(start_of())
    stream.send_text("a")
    client.take_frames(0.0)
    reconnect(client)
    hear(client, EXPIRED)
    assert kinds(said(client, 1.0)) == ["StreamStart", "Text"]
    assert only(Resume, reconnect(client, "token-3")).token == "token-2"


def test_a_start_whose_answer_was_lost_is_asked_about_when_resumed() -> None:
    client = connected_client()
    stream = client.start(start_of())
    client.take_frames(0.0)
    reconnect(client)
    client.take_events()
    hear(client, Resumed(stream=1, recovered=True))
    assert stream.start in said(client)
    started = started_of()
    hear(client, started)
    assert client.take_events() == [StreamRecovered(stream), StreamOpened(stream, started)]


@pytest.mark.parametrize("code", ["session_expired", "epoch_changed"])
@pytest.mark.parametrize("when", ["resuming", "running"])
def test_a_stream_whose_history_is_lost_goes_on_in_the_next_epoch(code: str, when: str) -> None:
    client = connected_client()
    stream = open_stream(client, credit_samples=9_999)
    for _ in range(3):
        stream.send_audio(PCM)
    client.take_frames(0.0)
    hear(client, frame_of(0))
    if when == "resuming":
        reconnect(client)
    client.take_events()
    client.take_frames(1.0)
    hear(client, Error(code=code, stream=1))
    assert client.take_events() == [StreamRecovered(stream)]
    start, *again = said(client, 1.0)
    assert isinstance(start, StreamStart)
    assert start.continues == Continuation(
        epoch=1, token="token-1", speaking=True, sample=SAMPLES, received_upto=SAMPLES
    )
    assert [(frame.seq, frame.sample) for frame in again if isinstance(frame, AudioFrame)] == [
        (0, SAMPLES),
        (1, 2 * SAMPLES),
    ]
    hear(client, started_of(epoch=1))
    hear(client, frame_of(0, sample=SAMPLES))
    assert stream.state is StreamState.OPEN
    assert stream.received_upto == 2 * SAMPLES


def test_a_stream_that_was_deleted_fails_with_what_was_said_first() -> None:
    client = connected_client()
    open_stream(client)
    hear(client, EXPIRED)
    client.take_events()
    hear(client, Error(code="stream_exists", stream=1))
    assert isinstance(only(StreamFailed, client.take_events()).error, SessionExpired)
    assert client.streams == {}


def test_a_stream_that_exists_after_it_went_on_fails_with_just_that() -> None:
    client = connected_client()
    open_stream(client)
    hear(client, EXPIRED, started_of(epoch=1), Error(code="stream_exists", stream=1))
    assert isinstance(only(StreamFailed, client.take_events()).error, StreamExists)


def test_utterances_that_the_lost_server_would_have_ended_end_here() -> None:
    client = connected_client()
    stream = open_stream(client)
    stream.send_text("a")
    stream.cancel(0)
    hear(client, EXPIRED)
    recovered, received = client.take_events()
    assert recovered == StreamRecovered(stream)
    assert isinstance(received, Received)
    assert received.items == [UtteranceEnd(utterance=0, reason="cancelled")]


def test_the_pace_that_the_server_asked_for_holds_in_the_next_epoch() -> None:
    client = connected_client()
    stream = open_stream(client)
    hear(client, FlowControl(rate=0.0), EXPIRED)
    stream.send_audio(PCM)
    stream.send_text("a")
    assert [type(item) for item in said(client, 1.0)] == [StreamStart]


def test_a_stream_lost_without_a_connection_is_asked_about_on_the_next() -> None:
    client = connected_client()
    stream = open_stream(client)
    hear(client, frame_of(0), EXPIRED)
    client.take_frames(0.0)
    client.disconnected(0.5)
    client.connected(1.0)
    client.receive(encode(welcome_of("token-2")), 1.0)
    assert only(Resume, said(client, 1.0)).epoch == 1
    hear(client, EXPIRED)
    start = only(StreamStart, said(client, 1.0))
    assert start.continues is not None
    assert (start.continues.epoch, stream.epoch) == (1, 1)


def test_nothing_is_told_of_what_ended_in_the_epoch_before() -> None:
    client = connected_client()
    stream = open_stream(client)
    stream.send_text("a")
    hear(client, UtteranceEnd(stream=1, seq=0, utterance=0, reason="failed"), EXPIRED)
    hear(client, started_of(epoch=1))
    client.take_events()
    hear(client, UtteranceEnd(stream=1, seq=0, utterance=0, reason="done"))
    assert client.take_events() == []


def test_a_raw_stream_has_no_next_epoch() -> None:
    client = connected_client()
    client.start(start_of(framing="raw"))
    hear(client, started_of())
    hear(client, EXPIRED)
    assert isinstance(only(StreamFailed, client.take_events()).error, SessionExpired)


@pytest.mark.parametrize("code", ["draining", "overloaded", "bus_unavailable"])
def test_a_stream_that_cannot_be_resumed_now_waits_for_the_next_connection(code: str) -> None:
    client = connected_client()
    stream = open_stream(client)
    reconnect(client)
    client.take_events()
    hear(client, Error(code=code, stream=1, retry_after=2.0))
    refused = only(ResumeRefused, client.take_events())
    assert (refused.stream, refused.error.code, refused.error.retry_after) == (stream, code, 2.0)
    assert stream.state is StreamState.SUSPENDED
    assert only(Resume, reconnect(client, "token-3")).token == "token-1"


def test_a_running_stream_fails_with_what_would_pass_for_a_resume() -> None:
    client = connected_client()
    open_stream(client)
    hear(client, Error(code="overloaded", stream=1))
    assert isinstance(only(StreamFailed, client.take_events()).error, Overloaded)


@pytest.mark.parametrize("code", ["draining", "overloaded"])
def test_the_next_epoch_waits_for_a_server_that_has_room(code: str) -> None:
    client = connected_client()
    stream = open_stream(client)
    hear(client, EXPIRED)
    client.take_events()
    hear(client, Error(code=code, stream=1))
    assert only(ResumeRefused, client.take_events()).stream is stream
    assert stream.state is StreamState.SUSPENDED


# gaps


def test_a_gap_of_the_server_rewinds() -> None:
    client = connected_client()
    stream = open_stream(client)
    for text in ("a", "b"):
        stream.send_text(text)
    client.take_frames(0.0)
    hear(client, Error(code="sequence_gap", stream=1, expected=1))
    assert [item.text for item in said(client) if isinstance(item, Text)] == ["b"]


def test_a_gap_that_cannot_be_filled_ends_the_stream() -> None:
    client = connected_client()
    open_stream(client)
    hear(client, Error(code="sequence_gap", stream=1, expected=7))
    assert isinstance(only(StreamFailed, client.take_events()).error, ResumeGap)


def test_what_the_server_lost_and_the_client_keeps_no_more_is_a_gap() -> None:
    client = connected_client()
    stream = open_stream(client)
    stream.send_text("a")
    client.take_frames(0.0)
    hear(client, Ack(stream=1, received_seq=0, committed_seq=0))
    reconnect(client)
    client.take_events()
    hear(client, Resumed(stream=1, recovered=True, received_seq=-1))
    assert isinstance(only(StreamFailed, client.take_events()).error, ResumeGap)


def test_a_gap_of_the_client_asks_the_server_to_rewind() -> None:
    client = connected_client()
    stream, states = open_stream(client), []
    hear(client, frame_of(3), frame_of(4))
    resume = only(Resume, said(client))
    assert (resume.received_seq, resume.token) == (-1, "token-1")
    states.append(stream.state)
    hear(client, Resumed(stream=1, recovered=True), frame_of(0))
    assert [*states, stream.state] == [StreamState.RESUMING, StreamState.OPEN]


def test_a_gap_that_comes_again_is_asked_about_again() -> None:
    client = connected_client()
    open_stream(client)
    for _ in range(2):
        hear(client, frame_of(3))
        assert only(Resume, said(client)).received_seq == -1
        hear(client, Resumed(stream=1, recovered=True))
        client.take_frames(0.0)


# links that lose


def test_a_resume_without_an_answer_is_said_again() -> None:
    client = connected_client(reliable=False)
    open_stream(client)
    resume = only(Resume, reconnect(client))
    client.handle_timer(1.0 + RESEND_AFTER)
    assert resume in said(client, 1.0 + RESEND_AFTER)


def test_a_stream_that_runs_is_not_asked_for_again() -> None:
    client = connected_client(reliable=False)
    open_stream(client)
    for now in (0.0, 5.0):
        client.handle_timer(now)
        assert "StreamStart" not in kinds(said(client, now))
        assert client.next_timer(now) > now


def test_without_a_connection_nothing_is_asked_for() -> None:
    client = connected_client(reliable=False)
    client.start(start_of())
    client.disconnected(1.0)
    client.handle_timer(9.0)
    assert client.next_timer(9.0) == float("inf")
    assert said(client) == []


def test_an_entry_that_does_not_come_in_time_is_asked_for() -> None:
    client = connected_client(reliable=False)
    open_stream(client)
    client.receive(frame_of(1), 0.0)
    client.handle_timer(REORDER_WAIT)
    assert only(Resume, said(client, REORDER_WAIT)).received_seq == -1


# faults


def test_an_entry_that_cannot_be_coded_ends_its_stream() -> None:
    client = connected_client()
    stream = open_stream(client, credit_chars=10**6)
    stream.out.push(Text(text="x" * 300_000))
    client.take_frames(0.0)
    assert isinstance(only(StreamFailed, client.take_events()).error, MessageTooLarge)
    assert said(client) == [Stop(stream=1)]


def test_a_stream_that_fails_without_a_connection_says_nothing() -> None:
    client = connected_client()
    stream = open_stream(client)
    stream.send_text("a")
    client.take_frames(0.0)
    stream.out.acknowledge(0, 0, 0.0)
    stream.token = None
    client.disconnected(1.0)
    assert isinstance(only(StreamFailed, client.take_events()).error, ResumeGap)


def test_events_without_audio_pass_as_they_are() -> None:
    client = connected_client()
    stream = open_stream(client)
    hear(client, Ack(stream=1), frame_of(0))
    assert client.take_events() == [
        Progressed(stream),
        Received(stream, [AudioFrame(PCM, 0, stream=1)]),
    ]


def test_what_was_prepared_for_a_lost_connection_is_not_sent_on_the_next() -> None:
    client = connected_client()
    hear(client, Ping(id=1))
    client.disconnected(1.0)
    client.connected(2.0)
    assert said(client, 2.0) == [Hello(version=1)]


def test_a_cancel_goes_out_at_once() -> None:
    client = connected_client()
    stream: ClientStream = open_stream(client)
    stream.send_text("a")
    said(client)
    stream.send_text("b")
    stream.cancel(0)
    assert said(client) == [Cancel(stream=1, seq=1, utterance=0)]
