import math

import pytest

from legato.errors import ConnectionLost, MalformedMessage, Overloaded, UnexpectedMessage
from legato.protocol.codec import encode
from legato.protocol.messages import (
    Draining,
    Error,
    FlowControl,
    Heartbeat,
    Ping,
    Pong,
    Welcome,
)
from legato.session.client import ClientSession
from legato.session.events import (
    DrainAnnounced,
    LinkStalled,
    Paced,
    SessionFailed,
    Welcomed,
)
from legato.session.states import LinkState
from tests.unit.session.ends import (
    HELLO,
    connected_client,
    frame_of,
    only,
    open_stream,
    said,
    welcome_of,
)

BEAT = Heartbeat()


def test_hello_goes_first() -> None:
    client = ClientSession(HELLO)
    client.connected(0.0)
    assert said(client) == [HELLO]
    assert client.link is LinkState.GREETING


def test_welcome_opens_the_session() -> None:
    client = ClientSession(HELLO)
    client.connected(0.0)
    welcome = welcome_of()
    client.receive(encode(welcome), 0.0)
    assert client.take_events() == [Welcomed(welcome)]
    assert client.welcome == welcome
    assert client.link is LinkState.OPEN


def test_a_second_welcome_breaks_the_rules() -> None:
    client = connected_client()
    with pytest.raises(UnexpectedMessage):
        client.receive(encode(welcome_of()), 0.0)


@pytest.mark.parametrize("data", ["rubbish", b"\xff\xff"])
def test_rubbish_breaks_the_rules(data: str | bytes) -> None:
    with pytest.raises(MalformedMessage):
        connected_client().receive(data, 0.0)


def test_without_a_connection_nothing_is_taken_in() -> None:
    client = connected_client()
    client.disconnected(0.0)
    client.receive("rubbish", 0.0)
    assert client.take_events() == []


def test_a_ping_is_answered() -> None:
    client = connected_client()
    client.receive(encode(Ping(id=5, time=2.5)), 0.0)
    assert said(client) == [Pong(id=5, time=2.5)]


def test_a_hello_without_an_answer_counts_as_loss() -> None:
    client = ClientSession(HELLO)
    client.connected(1.0)
    client.take_frames(1.0)
    assert client.next_timer(1.0) == 1.0 + BEAT.timeout
    client.handle_timer(1.0 + BEAT.timeout)
    stalled = only(LinkStalled, client.take_events())
    assert isinstance(stalled.error, ConnectionLost)
    assert "hello" in stalled.error.message
    assert client.next_timer(0.0) > 1.0 + BEAT.timeout


def test_silence_is_answered_by_a_ping_and_then_counts_as_loss() -> None:
    client = connected_client()
    assert client.next_timer(0.0) == BEAT.idle
    client.handle_timer(BEAT.idle - 1.0)
    assert said(client) == []
    client.handle_timer(BEAT.idle)
    assert isinstance(said(client)[0], Ping)
    client.handle_timer(BEAT.idle + BEAT.timeout)
    assert "no answer for 35.0 s" in only(LinkStalled, client.take_events()).error.message
    client.handle_timer(BEAT.idle + BEAT.timeout + 1.0)
    assert client.take_events() == []


def test_with_a_stream_open_silence_is_shorter() -> None:
    client = connected_client()
    open_stream(client)
    client.take_frames(0.0)
    assert client.next_timer(0.0) == BEAT.active


def test_a_pong_measures_the_round_trip() -> None:
    client = connected_client()
    assert client.rtt is None
    client.handle_timer(BEAT.idle)
    (ping,) = said(client)
    assert isinstance(ping, Ping)
    client.receive(encode(Pong(id=ping.id)), BEAT.idle + 0.25)
    assert client.rtt == 0.25


def test_audio_is_as_good_as_a_pong() -> None:
    client = connected_client()
    client.handle_timer(BEAT.idle)
    client.take_frames(BEAT.idle)
    client.receive(frame_of(0, number=9), BEAT.idle + 4.0)
    assert client.next_timer(BEAT.idle) == BEAT.idle + 4.0 + BEAT.timeout


def test_the_server_gives_the_heartbeat() -> None:
    client = ClientSession(HELLO)
    client.connected(0.0)
    heartbeat = Heartbeat(idle=7.0)
    welcome = Welcome(version=1, session_id="s", resume_token="t", heartbeat=heartbeat)
    client.receive(encode(welcome), 0.0)
    client.take_frames(0.0)
    assert client.next_timer(0.0) == 7.0


def test_without_a_connection_there_is_no_heartbeat() -> None:
    client = ClientSession(HELLO)
    assert client.next_timer(0.0) == math.inf


def test_a_pace_is_obeyed_and_told() -> None:
    client = connected_client()
    stream = open_stream(client)
    stream.send_audio(bytes(640))
    client.receive(encode(FlowControl(rate=0.0)), 0.0)
    assert client.take_events() == [Paced(FlowControl(rate=0.0))]
    assert said(client) == []


def test_a_pace_asked_for_before_is_told_to_each_server() -> None:
    client = ClientSession(HELLO)
    client.pace(2.0)
    client.connected(0.0)
    client.take_frames(0.0)
    client.receive(encode(welcome_of()), 0.0)
    assert said(client) == [FlowControl(rate=2.0)]


@pytest.mark.parametrize("token", [None, "elsewhere"])
def test_a_drain_is_told(token: str | None) -> None:
    client = connected_client()
    client.receive(encode(Draining(deadline=30.0, resume_token=token)), 0.0)
    assert client.take_events() == [DrainAnnounced(30.0)]


def test_an_error_without_a_stream_concerns_the_session() -> None:
    client = connected_client()
    client.receive(encode(Error(code="overloaded", retry_after=2.0)), 0.0)
    failed = only(SessionFailed, client.take_events())
    assert isinstance(failed.error, Overloaded)
    assert failed.error.retry_after == 2.0
