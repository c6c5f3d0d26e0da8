import math

import pytest

from legato.errors import (
    IdleTimeout,
    MessageTooLarge,
    SlowConsumer,
    Unauthenticated,
    UnexpectedMessage,
    UnsupportedVersion,
)
from legato.protocol.codec import encode
from legato.protocol.media import AudioFrame
from legato.protocol.messages import (
    Ack,
    Draining,
    Error,
    FlowControl,
    Hello,
    Limits,
    Message,
    Ping,
    Pong,
    Welcome,
)
from legato.session.events import Greeted, SessionFailed
from legato.session.server import ServerSession
from legato.session.server_link import HELLO_DEADLINE, MAX_ANSWERS, STRIKES
from legato.session.states import LinkState
from tests.unit.session.ends import (
    HELLO,
    PCM,
    accept,
    greeted_server,
    new_server,
    only,
    said,
    start_of,
)


def hear(server: ServerSession, message: Message, now: float = 0.0) -> None:
    server.receive(encode(message), now)


def failure(server: ServerSession) -> SessionFailed:
    return only(SessionFailed, server.take_events())


# greeting


def test_hello_is_welcomed_and_told() -> None:
    server = new_server(max_streams=7)
    hello = Hello(version=1, features=["telepathy"], auth="key")
    hear(server, hello)
    assert server.take_events() == [Greeted(hello)]
    assert said(server) == [
        Welcome(version=1, session_id="s", resume_token="token-1", limits=Limits(max_streams=7))
    ]


def test_a_version_that_is_not_spoken_closes_the_session() -> None:
    server = new_server()
    hear(server, Hello(version=2))
    assert isinstance(failure(server).error, UnsupportedVersion)
    assert only(Error, said(server)).code == "unsupported_version"


def test_hello_comes_once() -> None:
    server = greeted_server()
    hear(server, HELLO)
    assert only(Error, said(server)).code == "unexpected_message"


@pytest.mark.parametrize(
    "message",
    [start_of(), Ack(stream=1), FlowControl(rate=1.0)],
    ids=lambda message: type(message).__name__,
)
def test_hello_comes_first(message: Message) -> None:
    server = new_server()
    hear(server, message)
    error = only(Error, said(server))
    assert (error.code, error.message) == ("unexpected_message", "hello comes first")
    assert server.take_events() == []


def test_raw_framing_needs_no_hello() -> None:
    server = new_server()
    hear(server, start_of(framing="raw"))
    assert server.link is LinkState.RAW
    assert said(server) == []


def test_a_ping_is_answered_even_before_hello() -> None:
    server = new_server()
    hear(server, Ping(id=3, time=1.5))
    hear(server, Pong(id=3))
    assert said(server) == [Pong(id=3, time=1.5)]


# time


def test_hello_must_come_in_time() -> None:
    server = new_server()
    hear(server, Ping(id=1), now=4.0)
    server.take_frames(4.0)
    assert server.next_timer(4.0) == HELLO_DEADLINE
    server.handle_timer(HELLO_DEADLINE)
    error = failure(server).error
    assert isinstance(error, IdleTimeout)
    assert error.message == "nothing heard for 5 s"


def test_a_client_that_is_not_heard_of_is_given_up() -> None:
    server = greeted_server()
    hear(server, Pong(id=1), now=10.0)
    assert server.next_timer(10.0) == 100.0
    server.handle_timer(99.0)
    assert server.take_events() == []
    server.handle_timer(100.0)
    assert failure(server).error.message == "nothing heard for 90 s"
    assert server.next_timer(100.0) == 100.0
    server.take_frames(100.0)
    assert server.next_timer(100.0) == math.inf


def test_what_streams_wait_for_is_done_in_time() -> None:
    server = greeted_server(reliable=False)
    accept(server, start_of()).relay_frame(AudioFrame(PCM, 0))
    first = server.take_frames(1.0)
    server.handle_timer(3.0)
    assert first[0] in server.take_frames(3.0)


# strikes


def test_a_message_that_breaks_the_rules_is_told_and_forgiven() -> None:
    server = greeted_server()
    server.receive("rubbish", 0.0)
    server.receive(b"\xff\xff", 0.0)
    codes = [message.code for message in said(server) if isinstance(message, Error)]
    assert codes == ["malformed_message"] * 2
    assert server.take_events() == []


def test_the_fifth_closes_the_session_with_4400() -> None:
    server = greeted_server()
    for _ in range(STRIKES):
        server.receive("rubbish", 0.0)
    assert failure(server).error.close_code == 4400
    assert len(said(server)) == STRIKES


def test_a_message_above_the_limit_closes_the_session_with_1009() -> None:
    server = greeted_server()
    server.receive('{"type":"text","text":"' + "x" * 300_000 + '"}', 0.0)
    error = failure(server).error
    assert isinstance(error, MessageTooLarge)
    assert error.close_code == 1009


# closing


def test_closing_is_told_to_both_sides_once() -> None:
    server = greeted_server()
    server.close(Unauthenticated("no key"))
    server.close(UnexpectedMessage())
    assert isinstance(failure(server).error, Unauthenticated)
    assert only(Error, said(server)).code == "unauthenticated"


def test_after_closing_nothing_is_taken_in() -> None:
    server = greeted_server()
    accept(server, start_of())
    server.close(Unauthenticated())
    server.take_events()
    server.take_frames(0.0)
    hear(server, Ping(id=1))
    assert said(server) == []
    assert server.take_events() == []


def test_a_drain_is_told_with_a_token_for_elsewhere() -> None:
    server = greeted_server()
    server.drain(30.0)
    assert said(server) == [Draining(deadline=30.0, resume_token="token-1")]


def test_who_asks_and_does_not_read_is_given_up() -> None:
    server = greeted_server()
    for number in range(MAX_ANSWERS + 5):
        hear(server, Ping(id=number))
    assert isinstance(failure(server).error, SlowConsumer)
    assert len(said(server)) == MAX_ANSWERS + 2


# pace


def test_a_pace_is_obeyed() -> None:
    server = greeted_server()
    stream = accept(server, start_of())
    hear(server, FlowControl(rate=0.0))
    stream.relay_frame(AudioFrame(PCM, 0))
    assert said(server) == []
    hear(server, FlowControl(rate=1.0, stream=1))
    assert len(said(server, 1.0)) == 1


def test_who_is_not_read_from_is_not_idle() -> None:
    server = greeted_server()
    server.reading_paused()
    server.handle_timer(1_000.0)
    assert server.take_events() == []
    assert server.next_timer(1_000.0) == math.inf
    server.reading_resumed(1_000.0)
    assert server.next_timer(1_000.0) == 1_090.0
    server.handle_timer(1_090.0)
    assert isinstance(failure(server).error, IdleTimeout)
