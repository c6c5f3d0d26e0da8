import pytest

from legato.errors import EngineFailed, SessionReplaced
from legato.protocol.codec import encode
from legato.protocol.media import AudioFrame
from legato.protocol.messages import (
    Ack,
    Error,
    FlowControl,
    Limits,
    Message,
    Notice,
    Ping,
    Resume,
    Resumed,
    StreamEnd,
    StreamStarted,
    Text,
    Transcript,
)
from legato.session.events import (
    Acknowledged,
    Received,
    SessionFailed,
    StreamFailed,
    StreamFinished,
)
from legato.session.server import ServerSession
from legato.session.server_stream import ServerStream
from legato.session.states import LinkState, StreamState
from tests.unit.session.ends import (
    HELLO,
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


def hear(server: ServerSession, *data: bytes | Message, now: float = 0.0) -> None:
    for item in data:
        server.receive(item if isinstance(item, bytes) else encode(item), now)


def running() -> tuple[ServerSession, ServerStream]:
    server = greeted_server()
    return server, accept(server, start_of())


def suspended(*said_down: int) -> ServerStream:
    """A stream whose connection is lost after it sent frames of these numbers."""
    server, stream = running()
    for seq in said_down:
        stream.relay_frame(AudioFrame(PCM, seq, sample=seq * SAMPLES))
    server.take_frames(0.0)
    assert server.detach() == [stream]
    return stream


def resume_of(received_seq: int = -1, number: int = 1) -> Resume:
    return Resume(stream=number, stream_id="a", token="token-1", received_seq=received_seq)


def asked(server: ServerSession) -> None:
    hear(server, start_of())
    server.take_events()


# accepting


def test_an_accepted_stream_runs_and_is_told() -> None:
    server = greeted_server()
    asked(server)
    stream = server.accept(1, engine="e", voice="v", now=0.0)
    assert stream is not None
    assert server.streams == {1: stream}
    assert stream.state is StreamState.OPEN
    assert stream.admits("token-1")
    started = only(StreamStarted, said(server))
    assert (started.engine, started.voice) == ("e", "v")


def test_a_stream_that_nobody_asked_for_cannot_be_accepted() -> None:
    assert greeted_server().accept(1, engine="e", voice=None, now=0.0) is None


def test_a_client_that_is_gone_gets_no_stream() -> None:
    server = greeted_server()
    asked(server)
    server.close(EngineFailed())
    assert server.accept(1, engine="e", voice=None, now=0.0) is None
    server = greeted_server()
    asked(server)
    server.detach()
    assert server.accept(1, engine="e", voice=None, now=0.0) is None


def test_a_fault_in_what_came_behind_the_start_ends_the_stream() -> None:
    server = greeted_server()
    hear(server, start_of(), frame_of(0), frame_of(1, bytes(641)), frame_of(2))
    server.take_events()
    stream = server.accept(1, engine="e", voice=None, now=0.0)
    assert stream is not None
    assert stream.state is StreamState.FAILED
    assert [type(event) for event in server.take_events()] == [StreamFailed]


def test_the_limits_of_the_session_hold_for_its_streams() -> None:
    limits = Limits(max_text_chars=10)
    server = ServerSession(session_id="s", resume_token="t", now=0.0, limits=limits)
    hear(server, HELLO)
    accept(server, start_of())
    hear(server, Text(stream=1, seq=0, text="x" * 11))
    assert only(Error, said(server)).code == "text_too_long"


def test_a_pace_for_all_holds_for_streams_to_come() -> None:
    server = greeted_server()
    hear(server, FlowControl(rate=0.0))
    accept(server, start_of()).relay_frame(AudioFrame(PCM, 0))
    assert said(server) == []


def test_a_client_that_was_cut_off_before_it_learnt_of_its_stream_gets_that_one() -> None:
    old = greeted_server()
    stream = accept(old, start_of())
    hear(old, frame_of(0), Text(stream=1, seq=1, text="a"))
    stream.relay_frame(AudioFrame(PCM, 0))
    old.take_frames(0.0)
    old.detach()
    server = greeted_server()
    hear(server, start_of(4), frame_of(0, number=4), frame_of(2, number=4))
    server.take_events()
    assert server.accept(4, engine="e", voice=None, now=0.0, known=stream) is stream
    items = only(Received, server.take_events()).items
    assert [item.seq for item in items] == [0, 1, 2]
    started, ack, again = said(server)
    assert isinstance(started, StreamStarted)
    assert started.stream == 4
    assert isinstance(ack, Ack)
    assert isinstance(again, AudioFrame)
    assert again.seq == 0


# resuming


def test_a_resumed_stream_goes_on_where_the_client_left_off() -> None:
    stream = suspended(0, 1, 2)
    server = greeted_server()
    assert server.attach(stream, resume_of(0), 0.0)
    resumed, ack, *frames = said(server)
    assert resumed == Resumed(stream=1, recovered=True, received_seq=-1)
    assert isinstance(ack, Ack)
    assert [frame.seq for frame in frames if isinstance(frame, AudioFrame)] == [1, 2]
    assert stream.state is StreamState.OPEN


def test_a_stream_that_is_resumed_again_and_again_is_no_guess() -> None:
    server = greeted_server(max_streams=1)
    stream = suspended()
    for _ in range(3):
        hear(server, resume_of())
        assert server.attach(stream, resume_of(), 0.0)
    assert server.link is LinkState.OPEN


def test_resumed_says_what_the_log_holds() -> None:
    server, stream = running()
    hear(server, frame_of(0), frame_of(1))
    server.take_events()
    stream.stored(0, 0.0)
    hear(server, frame_of(2))
    server.detach()
    server = greeted_server()
    stream.stored(1, 0.0)
    server.attach(stream, resume_of(), 0.0)
    assert only(Resumed, said(server)).received_seq == 1


def test_a_stream_in_another_epoch_is_not_resumed() -> None:
    stream = suspended(0)
    server = greeted_server()
    resume = Resume(stream=1, stream_id="a", token="token-1", epoch=1)
    assert not server.attach(stream, resume, 0.0)
    assert only(Error, said(server)).code == "epoch_changed"
    assert stream.state is StreamState.SUSPENDED


def test_what_came_in_the_last_moment_is_told_on_the_next_connection() -> None:
    server, stream = running()
    hear(server, frame_of(0))
    server.detach()
    assert server.take_events() == []
    server = greeted_server()
    server.attach(stream, resume_of(), 0.0)
    assert [item.seq for item in only(Received, server.take_events()).items] == [0]


def test_the_old_token_lives_until_the_client_shows_that_it_has_the_new_one() -> None:
    stream = suspended()
    server = greeted_server(token="token-2")
    server.attach(stream, resume_of(), 0.0)
    admitted = [stream.admits("token-1"), stream.admits("token-2")]
    hear(server, Ack(stream=1))
    assert admitted == [True, True]
    assert [stream.admits("token-1"), stream.admits("token-2")] == [False, True]


def test_a_stream_may_go_on_under_another_number() -> None:
    stream = suspended()
    server = greeted_server()
    assert server.attach(stream, resume_of(number=8), 0.0)
    assert server.streams == {8: stream}
    hear(server, start_of(8))
    assert [type(message) for message in said(server)] == [Resumed, StreamStarted, Ack]


def test_number_0_means_the_only_stream_that_is_resumed() -> None:
    server = greeted_server()
    server.refuse(0, EngineFailed())
    server.attach(suspended(), resume_of(number=5), 0.0)
    hear(server, frame_of(0, number=0))
    assert only(Received, server.take_events()).stream.number == 5


def test_a_gap_that_cannot_be_filled_is_told_and_the_stream_stays_suspended() -> None:
    stream = suspended(0)
    stream.out.acknowledge(0, 0, 0.0)
    server = greeted_server()
    assert not server.attach(stream, resume_of(-1), 0.0)
    error = only(Error, said(server))
    assert (error.code, error.stream, error.missing) == ("resume_gap", 1, (0, 1))
    assert stream.state is StreamState.SUSPENDED
    assert server.streams == {}


def test_a_stream_of_this_connection_rewinds() -> None:
    server, stream = running()
    for seq in (0, 1):
        stream.relay_frame(AudioFrame(PCM, seq))
    server.take_frames(0.0)
    assert server.attach(stream, resume_of(0), 0.0)
    frames = [message for message in said(server) if isinstance(message, AudioFrame)]
    assert [frame.seq for frame in frames] == [1]


def test_a_stream_of_this_connection_may_change_its_number() -> None:
    server, stream = running()
    assert server.attach(stream, resume_of(number=8), 0.0)
    assert server.streams == {8: stream}


@pytest.mark.parametrize("waits", [False, True])
def test_a_number_that_is_taken_is_refused(waits: bool) -> None:
    stream, server = suspended(), greeted_server()
    if waits:
        hear(server, start_of(1, "b"))
    else:
        accept(server, start_of(1, "b"))
    assert not server.attach(stream, resume_of(), 0.0)
    assert only(Error, said(server)).code == "stream_exists"
    assert stream.state is StreamState.SUSPENDED


def test_a_stream_that_is_over_cannot_go_on() -> None:
    server, stream = running()
    server.fail(stream, EngineFailed())
    server.take_frames(0.0)
    assert not server.attach(stream, resume_of(), 0.0)
    assert only(Error, said(server)).code == "session_expired"


def test_a_raw_stream_cannot_go_on() -> None:
    server = new_server()
    stream = accept(server, start_of(framing="raw"))
    server.detach()
    assert not greeted_server().attach(stream, resume_of(), 0.0)


def test_nothing_goes_on_where_the_connection_is_lost() -> None:
    server = greeted_server()
    server.detach()
    assert not server.attach(suspended(), resume_of(), 0.0)


def test_the_pace_of_a_connection_holds_for_what_is_resumed_on_it() -> None:
    stream, server = suspended(), greeted_server()
    hear(server, FlowControl(rate=0.0))
    server.attach(stream, resume_of(), 0.0)
    stream.relay_frame(AudioFrame(PCM, 0))
    assert not any(isinstance(message, AudioFrame) for message in said(server))


# losing


def test_a_lost_connection_leaves_its_streams_suspended() -> None:
    server, stream = running()
    hear(server, start_of(2, "b"))
    assert server.detach() == [stream]
    assert stream.state is StreamState.SUSPENDED
    assert server.streams == {}
    assert server.link is LinkState.IDLE
    hear(server, Ping(id=1))
    assert said(server) == []


def test_the_connection_whose_last_stream_was_taken_over_is_closed() -> None:
    server, stream = running()
    other = accept(server, start_of(2, "b"))
    server.replaced(stream)
    error = only(Error, said(server))
    assert (error.code, error.stream) == ("session_replaced", 1)
    assert server.take_events() == []
    server.replaced(other)
    failed = only(SessionFailed, server.take_events())
    assert isinstance(failed.error, SessionReplaced)
    assert failed.error.close_code == 4409


def test_a_connection_that_waits_for_a_stream_is_not_closed() -> None:
    server, stream = running()
    hear(server, start_of(2, "b"))
    server.take_events()
    server.replaced(stream)
    assert server.take_events() == []


# passing on


def test_a_notice_is_handed_on() -> None:
    server, stream = running()
    server.pass_notice(stream, Notice(kind="queued", position=2))
    assert said(server) == [Notice(stream=1, kind="queued", position=2)]


def test_what_a_worker_wrote_wrong_ends_its_stream_as_our_fault() -> None:
    server, stream = running()
    nan = Transcript(seq=0, kind="final", text="a", confidence=float("nan"))
    stream.relay([nan])
    assert said(server) == []
    assert only(Error, said(server)).code == "internal"
    assert only(StreamFailed, server.take_events()).stream is stream


def test_audio_beyond_the_credit_ends_its_stream() -> None:
    server, stream = running()
    hear(server, *(frame_of(seq, bytes(200_000)) for seq in range(5)))
    assert only(StreamFailed, server.take_events()).stream is stream
    assert only(Error, said(server)).code == "rate_limited"


# raw framing


def test_raw_audio_goes_out_bare() -> None:
    server = new_server()
    stream = accept(server, start_of(framing="raw"))
    stream.relay_frame(AudioFrame(PCM, 0))
    assert server.take_frames(0.0) == [PCM]


def test_a_raw_stream_is_finished_when_its_end_is_sent() -> None:
    server = new_server()
    stream = accept(server, start_of(framing="raw"))
    stream.relay([AudioFrame(PCM, 0), StreamEnd(seq=1)])
    assert len(server.take_frames(0.0)) == 2
    assert only(StreamFinished, server.take_events()).stream is stream
    assert stream.state is StreamState.ENDED


def test_what_was_sent_to_a_raw_client_is_done_with() -> None:
    server = new_server()
    stream = accept(server, start_of(framing="raw"))
    stream.relay([AudioFrame(PCM, 0), AudioFrame(PCM, 1, sample=SAMPLES)])
    assert server.take_frames(0.0) == [PCM, PCM]
    assert server.take_events() == [Acknowledged(stream, 1, None)]
    assert stream.out.kept_samples == 0


def test_a_raw_client_that_only_listens_is_not_idle() -> None:
    server = new_server()
    stream = accept(server, start_of(framing="raw"))
    stream.relay_frame(AudioFrame(PCM, 0))
    server.take_frames(80.0)
    server.take_frames(85.0)
    assert server.next_timer(85.0) == 170.0
