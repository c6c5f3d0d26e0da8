"""How a client asks for its streams, on links that are cut and on links that lose."""

import pytest

from legato.errors import EpochChanged, LegatoError, ResumeGap, SessionExpired
from legato.protocol.codec import encode
from legato.protocol.messages import (
    Ack,
    Error,
    FlowControl,
    Hello,
    Message,
    Resume,
    Resumed,
    Stop,
    StreamStart,
    Text,
)
from legato.session.client import ClientSession
from legato.session.events import (
    Received,
    ResumeRefused,
    StreamFailed,
    StreamOpened,
    StreamRecovered,
)
from legato.session.lane import RESEND_AFTER
from legato.session.states import StreamState
from tests.unit.session.ends import (
    HELLO,
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


def hear(client: ClientSession, *data: bytes | Message) -> None:
    for item in data:
        client.receive(item if isinstance(item, bytes) else encode(item), 0.0)


def reconnect(client: ClientSession) -> None:
    client.disconnected(1.0)
    client.connected(1.0)
    hear(client, welcome_of("token-2"))


def test_after_hello_comes_what_was_never_started() -> None:
    client = connected_client()
    open_stream(client)
    client.disconnected(1.0)
    client.start(start_of(stream_id="b"))
    client.connected(1.0)
    hello, start = said(client)
    assert isinstance(hello, Hello)
    assert isinstance(start, StreamStart)
    assert start.stream_id == "b"


def test_a_stream_under_way_is_resumed_where_it_stands() -> None:
    client = connected_client()
    stream = open_stream(client)
    stream.send_text("a")
    client.take_frames(0.0)
    hear(client, frame_of(0))
    reconnect(client)
    assert only(Resume, said(client)) == Resume(
        stream=1, stream_id="a", token="token-1", received_seq=0, sent_seq=0
    )


def test_a_stream_that_no_server_knows_is_started_again() -> None:
    client = ClientSession(HELLO)
    client.connected(0.0)
    stream = client.start(start_of())
    client.disconnected(0.5)
    assert stream.state is StreamState.STARTING
    assert said(client) == []


def test_a_resume_that_no_server_knows_begins_again_if_nothing_came_of_it() -> None:
    client = connected_client()
    stream = client.start(start_of())
    stream.send_text("a")
    client.take_frames(0.0)
    reconnect(client)
    client.take_frames(0.0)
    hear(client, EXPIRED)
    start, text = said(client)
    assert start == stream.start
    assert text == Text(stream=1, seq=0, text="a")


def test_what_was_let_go_of_cannot_begin_again_without_a_token() -> None:
    client = ClientSession(HELLO)
    client.connected(0.0)
    stream = client.start(start_of())
    stream.send_text("a")
    client.take_frames(0.0)
    stream.out.acknowledge(0, 0, 0.0)
    client.disconnected(0.5)
    assert isinstance(only(StreamFailed, client.take_events()).error, ResumeGap)


def test_a_lost_stream_begins_its_next_epoch() -> None:
    client = connected_client()
    stream = open_stream(client)
    hear(client, frame_of(0), FlowControl(rate=2.0), EXPIRED)
    assert StreamRecovered(stream) in client.take_events()
    start = only(StreamStart, said(client))
    assert start.continues is not None
    assert start.continues.epoch == 1


def test_a_stream_that_is_lost_while_its_start_is_repeated_fails() -> None:
    client = connected_client()
    client.start(start_of())
    client.take_frames(0.0)
    reconnect(client)
    client.take_events()
    hear(client, Resumed(stream=1, recovered=True), Error(code="epoch_changed", stream=1))
    assert isinstance(only(StreamFailed, client.take_events()).error, EpochChanged)


def test_a_raw_stream_that_is_lost_fails() -> None:
    client = connected_client()
    client.start(start_of(framing="raw"))
    hear(client, started_of(), EXPIRED)
    assert isinstance(only(StreamFailed, client.take_events()).error, SessionExpired)


def test_what_was_cancelled_is_told_to_have_ended() -> None:
    client = connected_client()
    stream = open_stream(client)
    stream.send_text("a")
    stream.cancel(0)
    hear(client, EXPIRED)
    assert only(Received, client.take_events()).stream is stream


def test_a_next_epoch_that_is_refused_for_now_waits() -> None:
    client = connected_client()
    stream = open_stream(client)
    hear(client, frame_of(0), EXPIRED)
    client.take_events()
    hear(client, Error(code="overloaded", stream=1))
    assert only(ResumeRefused, client.take_events()).stream is stream


def test_a_new_stream_that_meets_a_drain_is_started_on_the_next_connection() -> None:
    client = connected_client()
    stream = client.start(start_of())
    client.take_frames(0.0)
    hear(client, Error(code="draining", stream=1))
    assert only(ResumeRefused, client.take_events()).stream is stream
    reconnect(client)
    assert only(Resume, said(client)).stream_id == stream.start.stream_id
    hear(client, EXPIRED)
    assert only(StreamStart, said(client)) == stream.start
    hear(client, started_of())
    assert only(StreamOpened, client.take_events()).stream is stream


def test_a_resume_that_is_refused_for_now_waits() -> None:
    client = connected_client()
    stream = open_stream(client)
    reconnect(client)
    client.take_events()
    hear(client, Error(code="overloaded", stream=1))
    assert only(ResumeRefused, client.take_events()).stream is stream


@pytest.mark.parametrize(("framing", "code"), [("raw", "draining"), ("protobuf", "overloaded")])
def test_a_new_stream_that_is_refused_otherwise_fails(framing: str, code: str) -> None:
    client = connected_client()
    client.start(start_of(framing=framing))
    hear(client, Error(code=code, stream=1))
    assert only(StreamFailed, client.take_events()).error.code == code


def test_of_a_deleted_stream_the_loss_is_told() -> None:
    client = connected_client()
    open_stream(client)
    hear(client, frame_of(0), EXPIRED)
    client.take_events()
    hear(client, Error(code="stream_exists", stream=1))
    assert isinstance(only(StreamFailed, client.take_events()).error, SessionExpired)


def test_a_running_stream_with_a_gap_is_resumed_on_the_spot() -> None:
    client = connected_client()
    stream = open_stream(client)
    hear(client, frame_of(3))
    assert stream.state is StreamState.RESUMING
    assert only(Resume, said(client)).received_seq == -1


def test_a_starting_stream_with_a_gap_waits_for_the_server() -> None:
    client = connected_client()
    client.start(start_of())
    client.take_frames(0.0)
    hear(client, frame_of(3))
    assert said(client) == []


def test_on_a_link_that_loses_what_is_not_answered_is_asked_again() -> None:
    client = connected_client(reliable=False)
    stream = client.start(start_of())
    client.take_frames(0.0)
    client.handle_timer(0.0)
    assert client.next_timer(0.0) == RESEND_AFTER
    client.handle_timer(1.0)
    assert said(client, 1.0) == []
    client.handle_timer(RESEND_AFTER)
    assert stream.start in said(client, RESEND_AFTER)


def test_what_is_answered_is_not_asked_again() -> None:
    client = connected_client(reliable=False)
    client.start(start_of())
    hear(client, started_of())
    client.take_frames(0.0)
    client.handle_timer(RESEND_AFTER)
    assert not any(isinstance(item, StreamStart) for item in said(client, RESEND_AFTER))
    client.next_timer(RESEND_AFTER)
    client.disconnected(3.0)
    client.handle_timer(4.0)
    assert client.next_timer(4.0) == float("inf")


def test_on_a_link_that_keeps_all_nothing_is_asked_twice() -> None:
    client = connected_client()
    client.start(start_of())
    client.take_frames(0.0)
    client.handle_timer(RESEND_AFTER)
    assert not any(isinstance(item, StreamStart) for item in said(client, RESEND_AFTER))


def test_a_history_that_lacks_what_the_server_wants_fails_the_stream() -> None:
    client = connected_client()
    stream = open_stream(client)
    stream.send_text("a")
    client.take_frames(0.0)
    hear(client, Ack(stream=1, received_seq=0, committed_seq=0))
    reconnect(client)
    client.take_frames(0.0)
    client.take_events()
    hear(client, Resumed(stream=1, recovered=True, received_seq=-1))
    assert isinstance(only(StreamFailed, client.take_events()).error, ResumeGap)
    assert only(Stop, said(client)).stream == 1


@pytest.mark.parametrize("cannot", ["\ud800"])
def test_what_cannot_be_coded_fails_its_stream(cannot: str) -> None:
    client = connected_client()
    stream = open_stream(client)
    stream.out.push(Text(stream=1, text=cannot))
    client.take_frames(0.0)
    assert isinstance(only(StreamFailed, client.take_events()).error, LegatoError)
