import math

import pytest

from legato.errors import (
    EngineFailed,
    MalformedMessage,
    Overloaded,
    RateLimited,
    SessionExpired,
    SlowConsumer,
    StreamExists,
    TextTooLong,
    UnexpectedMessage,
)
from legato.protocol.codec import encode
from legato.protocol.media import AudioFrame
from legato.protocol.messages import (
    Ack,
    Cancel,
    Error,
    Finalize,
    FlowControl,
    Message,
    Resume,
    Stop,
    StreamEnd,
    StreamStart,
    StreamStarted,
    Text,
    Transcript,
)
from legato.session.down_lane import ACK_PATIENCE, IGNORED_BYTES
from legato.session.events import (
    Acknowledged,
    Received,
    ResumeRequested,
    SessionFailed,
    StreamFailed,
    StreamFinished,
    StreamRequested,
    StreamStopped,
)
from legato.session.lobby import EARLY_ENTRIES
from legato.session.server import ServerSession
from legato.session.server_stream import ServerStream
from legato.session.states import LinkState, StreamState
from tests.unit.session.ends import (
    PCM,
    SAMPLES,
    accept,
    frame_of,
    greeted_server,
    new_server,
    only,
    said,
    start_of,
)


def hear(server: ServerSession, *data: bytes | Message) -> None:
    for item in data:
        server.receive(item if isinstance(item, bytes) else encode(item), 0.0)


def running(*, reliable: bool = True) -> tuple[ServerSession, ServerStream]:
    server = greeted_server(reliable=reliable)
    return server, accept(server, start_of())


def raw() -> tuple[ServerSession, ServerStream]:
    server = new_server()
    return server, accept(server, start_of(7, framing="raw"))


def received(server: ServerSession) -> list[int | None]:
    events = server.take_events()
    return [item.seq for event in events if isinstance(event, Received) for item in event.items]


def code(server: ServerSession) -> str:
    return only(Error, said(server)).code


# starting


def test_a_start_is_asked_for() -> None:
    server, start = greeted_server(), start_of()
    hear(server, start)
    assert server.take_events() == [StreamRequested(start)]
    assert said(server) == []


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        (start_of(task="sing"), "malformed_message"),
        (start_of(codec="mp3"), "unsupported_format"),
        (start_of(sample_rate=1), "unsupported_format"),
    ],
)
def test_a_start_that_cannot_be_served_is_refused(start: StreamStart, expected: str) -> None:
    server = greeted_server()
    hear(server, start, frame_of(0), Text(stream=1, seq=1, text="a"))
    error = only(Error, said(server))
    assert (error.code, error.stream) == (expected, 1)
    assert server.take_events() == []


def malformed(number: object) -> str:
    return (
        f'{{"type":"stream_start","stream":{number},"stream_id":"b","task":"echo","speed":"fast"}}'
    )


def test_a_malformed_start_is_refused_and_is_no_strike() -> None:
    server, _ = running()
    for _ in range(9):
        server.receive(malformed(2), 0.0)
        error = only(Error, said(server))
        assert (error.code, error.stream) == (MalformedMessage.code, 2)
    hear(server, frame_of(0, number=2))
    assert said(server) == []
    assert server.take_events() == []


@pytest.mark.parametrize("number", [1, 3, -1, 2**32, '"x"'])
def test_a_malformed_start_that_names_no_new_stream_is_a_strike(number: object) -> None:
    server, _ = running()
    hear(server, start_of(3, "c"))
    server.receive(malformed(number), 0.0)
    error = only(Error, said(server))
    assert (error.code, error.stream) == (MalformedMessage.code, None)


def test_a_malformed_start_before_hello_is_a_strike() -> None:
    server = new_server()
    server.receive(malformed(2), 0.0)
    assert only(Error, said(server)).stream is None


@pytest.mark.parametrize(
    "data", [b'{"type":"stream_start","stream":2}', '{"type":"stream_start"', '{"type":"text"}']
)
def test_what_is_no_start_is_a_strike(data: str | bytes) -> None:
    server = greeted_server()
    server.receive(data, 0.0)
    error = only(Error, said(server))
    assert (error.code, error.stream) == (MalformedMessage.code, None)


def test_the_same_start_again_gives_the_state_of_the_stream() -> None:
    server, stream = running()
    hear(server, frame_of(0))
    server.take_events()
    stream.stored(0, 0.0)
    hear(server, start_of())
    assert only(StreamStarted, said(server)).received_seq == 0
    assert server.take_events() == []


def test_the_same_start_again_before_the_answer_changes_nothing() -> None:
    server = greeted_server()
    hear(server, start_of(), start_of())
    assert len(server.take_events()) == 1
    assert said(server) == []


@pytest.mark.parametrize("waits", [False, True])
def test_another_start_with_the_same_number_is_refused(waits: bool) -> None:
    server = greeted_server()
    hear(server, start_of())
    if not waits:
        server.accept(1, engine="e", voice=None, now=0.0)
        server.take_frames(0.0)
    server.take_events()
    hear(server, start_of(language="en"))
    assert code(server) == StreamExists.code
    assert server.take_events() == []
    hear(server, frame_of(0))
    assert said(server) == []


@pytest.mark.parametrize("waits", [False, True])
def test_another_start_with_the_same_id_is_refused(waits: bool) -> None:
    server = greeted_server()
    hear(server, start_of())
    if not waits:
        server.accept(1, engine="e", voice=None, now=0.0)
        server.take_frames(0.0)
    server.take_events()
    hear(server, start_of(2))
    error = only(Error, said(server))
    assert (error.code, error.stream) == (StreamExists.code, 2)


def test_a_connection_has_only_so_many_streams() -> None:
    server = greeted_server(max_streams=1)
    accept(server, start_of())
    hear(server, start_of(2, "b"))
    error = only(Error, said(server))
    assert (error.code, error.retry_after) == (Overloaded.code, 1.0)


def test_input_may_come_behind_the_start() -> None:
    server = greeted_server()
    hear(server, start_of(), frame_of(0), Finalize(stream=1, seq=1))
    server.take_events()
    server.accept(1, engine="e", voice=None, now=0.0)
    assert received(server) == [0, 1]


def test_too_much_behind_a_start_is_refused() -> None:
    server = greeted_server()
    hear(server, start_of())
    server.take_events()
    hear(server, *(frame_of(seq, b"") for seq in range(EARLY_ENTRIES + 2)))
    error = only(Error, said(server))
    assert (error.code, error.stream) == (RateLimited.code, 1)
    assert server.accept(1, engine="e", voice=None, now=0.0) is None


def test_what_comes_behind_a_refused_start_is_dropped_silently() -> None:
    server = greeted_server()
    hear(server, start_of())
    server.take_events()
    server.refuse(1, EngineFailed("no"))
    assert code(server) == EngineFailed.code
    hear(server, frame_of(0), Text(stream=1, seq=1, text="a"))
    assert said(server) == []


# entries


def test_entries_are_told_once_and_in_order() -> None:
    server, _ = running()
    hear(server, frame_of(0), frame_of(0), Text(stream=1, seq=1, text="a"))
    assert received(server) == [0, 1]


def test_a_gap_is_told_once_and_is_no_strike() -> None:
    server, _ = running()
    hear(server, *(frame_of(seq) for seq in range(2, 9)))
    error = only(Error, said(server))
    assert (error.code, error.expected, error.stream) == ("sequence_gap", 0, 1)
    assert server.take_events() == []


def test_an_entry_without_a_number_is_a_strike() -> None:
    server, _ = running()
    hear(server, Text(stream=1, text="a"))
    error = only(Error, said(server))
    assert (error.code, error.stream) == (UnexpectedMessage.code, None)


def test_what_belongs_to_a_stream_that_was_never_asked_for_is_one_strike() -> None:
    server, _ = running()
    hear(server, *(frame_of(seq, number=5) for seq in range(9)))
    error = only(Error, said(server))
    assert (error.code, error.stream) == (UnexpectedMessage.code, None)
    assert "stream 5 is not open" in error.message


def test_where_order_is_not_kept_an_entry_may_overtake_its_start() -> None:
    server, _ = running(reliable=False)
    hear(server, frame_of(0, number=5))
    assert said(server) == []


def test_audio_that_ends_in_the_middle_of_a_sample_ends_that_stream_only() -> None:
    server, stream = running()
    other = accept(server, start_of(2, "b"))
    hear(server, frame_of(0, bytes(641)), frame_of(1))
    error = only(Error, said(server))
    assert (error.code, error.stream) == ("bad_audio", 1)
    assert only(StreamFailed, server.take_events()).stream is stream
    assert list(server.streams.values()) == [other]


def test_too_long_a_text_ends_the_stream() -> None:
    server, _ = running()
    hear(server, Text(stream=1, seq=0, text="x" * 20_001))
    assert code(server) == TextTooLong.code


def test_a_frame_after_the_end_ends_the_stream() -> None:
    server, _ = running()
    hear(server, StreamEnd(stream=1, seq=0), frame_of(1))
    error = only(Error, said(server))
    assert (error.code, error.stream) == (UnexpectedMessage.code, 1)


def test_a_cancel_after_the_end_is_taken() -> None:
    server, _ = running()
    hear(server, StreamEnd(stream=1, seq=0), Cancel(stream=1, seq=1, utterance=0))
    assert received(server) == [0, 1]


def test_number_0_means_the_only_stream() -> None:
    server, _ = running()
    hear(server, frame_of(0, number=0), Finalize(seq=1))
    assert received(server) == [0, 1]


def test_number_0_means_what_was_started_as_0() -> None:
    server, _ = running()
    hear(server, start_of(0, "b"), frame_of(0, number=0))
    server.take_events()
    server.accept(0, engine="e", voice=None, now=0.0)
    assert only(Received, server.take_events()).stream.number == 0


def test_number_0_does_not_mean_another_stream_once_it_was_used() -> None:
    server, _ = running()
    hear(server, start_of(0, "b"))
    server.refuse(0, EngineFailed())
    server.take_events()
    server.take_frames(0.0)
    hear(server, frame_of(0, number=0))
    assert received(server) == []
    assert said(server) == []


# raw framing


def test_raw_audio_and_messages_need_no_numbers() -> None:
    server, _ = raw()
    hear(server, PCM, Text(text="a"), Finalize(), StreamEnd())
    assert received(server) == [0, 1, 2, 3]


def test_raw_audio_may_come_behind_the_start() -> None:
    server = new_server()
    hear(server, start_of(7, framing="raw"), PCM, StreamEnd())
    server.take_events()
    server.accept(7, engine="e", voice=None, now=0.0)
    assert received(server) == [0, 1]


def test_raw_audio_is_whole_samples() -> None:
    server, _ = raw()
    hear(server, bytes(641), PCM, PCM)
    assert code(server) == "bad_audio"


def test_raw_audio_behind_a_refused_start_is_dropped_silently() -> None:
    server = new_server()
    hear(server, start_of(7, framing="raw", task="sing"), PCM, PCM)
    assert code(server) == MalformedMessage.code


def test_a_raw_connection_has_one_stream() -> None:
    server, _ = raw()
    hear(server, start_of(8, "b", framing="raw"), start_of(9, "c"), PCM)
    errors = [message for message in said(server) if isinstance(message, Error)]
    assert [(error.code, error.stream) for error in errors] == [
        (UnexpectedMessage.code, 8),
        (UnexpectedMessage.code, 9),
    ]
    assert received(server) == [0]


def test_raw_framing_may_follow_hello() -> None:
    server = greeted_server()
    accept(server, start_of(framing="raw"))
    assert server.link is LinkState.RAW
    hear(server, PCM)
    assert received(server) == [0]


def test_raw_framing_does_not_share_a_connection() -> None:
    server, _ = running()
    hear(server, start_of(2, "b", framing="raw"))
    error = only(Error, said(server))
    assert (error.code, error.stream) == (UnexpectedMessage.code, 2)
    assert server.link is LinkState.OPEN


# acks


def test_an_ack_is_told_and_gives_credit() -> None:
    server, stream = running()
    stream.out.samples.grant(1000)
    stream.relay([AudioFrame(PCM, 0), AudioFrame(PCM, 1, sample=SAMPLES)])
    server.take_frames(0.0)
    hear(server, Ack(stream=1, received_seq=1, played_upto=50, credit_samples=9000))
    assert server.take_events() == [Acknowledged(stream, 1, 50)]
    assert stream.out.samples.limit == 9000
    assert stream.played_upto == 50
    hear(server, Ack(stream=1, received_seq=1))
    assert stream.played_upto == 50


def test_nobody_acknowledges_more_than_was_sent() -> None:
    server, stream = running()
    hear(server, FlowControl(rate=0.0), Ack(stream=1, received_seq=2**32 - 1))
    assert server.take_events() == [Acknowledged(stream, -1, None)]
    stream.relay([AudioFrame(PCM, 0), Transcript(seq=1, kind="final", text="a")])
    server.take_frames(0.0)
    hear(server, Ack(stream=1, received_seq=2**32 - 1))
    assert server.take_events() == [Acknowledged(stream, -1, None)]


def send_much(server: ServerSession, stream: ServerStream, size_bytes: int, now: float) -> None:
    """Send so much down, in large frames."""
    stream.out.set_rate(math.inf, now)
    first, payload = stream.out.next_seq, bytes(60_000)
    count = size_bytes // len(payload) + 1
    stream.relay([AudioFrame(payload, first + place) for place in range(count)])
    while server.take_frames(now):
        pass


def test_a_client_that_was_sent_much_and_acknowledges_nothing_is_told() -> None:
    server, stream = running()
    send_much(server, stream, IGNORED_BYTES, 0.0)
    server.take_events()
    assert server.next_timer(1.0) == ACK_PATIENCE
    server.handle_timer(ACK_PATIENCE - 0.1)
    assert not stream.over
    server.handle_timer(ACK_PATIENCE)
    (failed,) = [event for event in server.take_events() if isinstance(event, StreamFailed)]
    assert failed.error.code == SlowConsumer.code
    error = only(Error, said(server))
    assert (error.code, error.stream) == (SlowConsumer.code, 1)
    assert "ack" in error.message


def test_a_client_that_was_sent_little_may_leave_acks_out() -> None:
    server, stream = running()
    send_much(server, stream, IGNORED_BYTES // 2, 0.0)
    server.handle_timer(ACK_PATIENCE)
    assert not stream.over
    assert server.next_timer(ACK_PATIENCE) == 2 * ACK_PATIENCE


def test_each_acknowledgement_gives_more_patience() -> None:
    server, stream = running()
    send_much(server, stream, IGNORED_BYTES + 60_000, 0.0)
    server.receive(encode(Ack(stream=1, received_seq=0)), 10.0)
    server.handle_timer(ACK_PATIENCE)
    assert not stream.over
    server.handle_timer(10.0 + ACK_PATIENCE)
    assert stream.over


def test_what_a_client_holds_is_kept_no_more() -> None:
    server, stream = running()
    stream.relay_frame(AudioFrame(PCM, 0))
    server.take_frames(0.0)
    hear(server, Ack(stream=1, received_seq=0))
    assert stream.out.kept_samples == 0


def test_an_ack_shows_that_the_client_knows_of_the_stream() -> None:
    server, stream = running()
    before = stream.acquainted
    hear(server, Ack(stream=1))
    assert [before, stream.acquainted] == [False, True]


def test_the_ack_of_the_end_finishes_the_stream() -> None:
    server, stream = running()
    stream.relay([AudioFrame(PCM, 0), StreamEnd(seq=1)])
    server.take_frames(0.0)
    hear(server, Ack(stream=1, received_seq=0))
    server.take_events()
    hear(server, Ack(stream=1, received_seq=1))
    finished = only(StreamFinished, server.take_events())
    assert (finished.stream, finished.end, finished.intact) == (stream, stream.end, True)
    assert stream.state is StreamState.ENDED
    assert server.streams == {}


def test_an_ack_cannot_finish_what_was_not_ended() -> None:
    server, stream = running()
    hear(server, Ack(stream=1, received_seq=99))
    assert stream.state is StreamState.OPEN


def test_an_ack_of_a_stream_that_is_gone_is_ignored() -> None:
    server, _ = running()
    hear(server, Ack(stream=5))
    assert server.take_events() == []
    assert said(server) == []


# stopping and resuming


def test_a_stop_is_told() -> None:
    server, stream = running()
    hear(server, frame_of(0), Stop(stream=1))
    assert server.take_events() == [StreamStopped(stream)]
    assert stream.over
    assert server.streams == {}


def test_a_stop_takes_back_a_start() -> None:
    server = greeted_server()
    hear(server, start_of(), Stop(stream=1))
    assert server.accept(1, engine="e", voice=None, now=0.0) is None


def test_a_stop_that_crosses_the_end_is_no_fault() -> None:
    server, stream = running()
    server.fail(stream, EngineFailed())
    server.take_frames(0.0)
    hear(server, Stop(stream=1))
    assert said(server) == []


def test_a_stop_of_a_stream_that_never_was_is_a_strike() -> None:
    server, _ = running()
    hear(server, Stop(stream=5))
    assert code(server) == UnexpectedMessage.code


def test_a_resume_is_asked_for() -> None:
    server = greeted_server()
    resume = Resume(stream=1, stream_id="a", token="t")
    hear(server, resume)
    assert server.take_events() == [ResumeRequested(resume)]


def test_a_refused_resume_is_told() -> None:
    server = greeted_server()
    hear(server, Resume(stream=1, stream_id="a", token="t"))
    server.refuse(1, SessionExpired())
    assert code(server) == SessionExpired.code


def test_who_guesses_at_resumes_is_cut_off() -> None:
    server = greeted_server(max_streams=4)
    for number in range(1, 5):
        hear(server, Resume(stream=number, stream_id="a", token="guess"))
        server.refuse(number, SessionExpired())
    server.take_events()
    said(server)
    hear(server, *(Resume(stream=9, stream_id="a", token="guess") for _ in range(3_000)))
    assert code(server) == RateLimited.code
    assert [type(event) for event in server.take_events()] == [SessionFailed]
    assert server.link is LinkState.CLOSED


def test_no_more_resumes_wait_than_there_may_be_streams() -> None:
    server = greeted_server(max_streams=4)
    hear(server, *(Resume(stream=n, stream_id=f"s{n}", token="t") for n in range(1, 5)))
    assert len(server.take_events()) == 4
    hear(server, Resume(stream=5, stream_id="s5", token="t"))
    assert code(server) == RateLimited.code


def test_raw_framing_knows_no_resume() -> None:
    server, _ = raw()
    hear(server, Resume(stream=1, stream_id="b", token="t"))
    assert code(server) == UnexpectedMessage.code


# failing


def test_a_failed_stream_is_told_to_both_sides_once() -> None:
    server, stream = running()
    server.fail(stream, EngineFailed("broken"))
    server.fail(stream, EngineFailed("broken"))
    server.pass_error(stream, Error(code="internal"))
    error = only(Error, said(server))
    assert (error.code, error.message, error.stream) == (EngineFailed.code, "broken", 1)
    assert isinstance(only(StreamFailed, server.take_events()).error, EngineFailed)


def test_late_frames_of_a_failed_stream_are_dropped_silently() -> None:
    server, stream = running()
    server.fail(stream, EngineFailed())
    server.take_frames(0.0)
    hear(server, frame_of(0))
    assert said(server) == []


def test_the_error_of_a_worker_is_handed_on_as_it_is() -> None:
    server, stream = running()
    message = Error(code="new_code", message="new", retryable=True)
    server.pass_error(stream, message)
    assert said(server) == [Error(code="new_code", message="new", retryable=True, stream=1)]
    assert message.stream is None
    assert server.take_events() == []
    assert stream.state is StreamState.FAILED


def test_an_error_that_cannot_be_coded_is_our_fault() -> None:
    server, stream = running()
    server.pass_error(stream, Error(code="unsupported_text", characters="x" * 300_000))
    error = only(Error, said(server))
    assert (error.code, error.stream) == ("internal", 1)
