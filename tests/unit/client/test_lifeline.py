"""Connections that outlive their sockets, in virtual time."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import pairwise
from typing import TypeVar

import msgspec
import pytest

from legato.client.channel import Channel
from legato.client.config import ClientConfig
from legato.client.connection import Connection
from legato.client.lifeline import PING_GRACE
from legato.client.recovery import GRACE, QUICKEST
from legato.errors import (
    ConnectionLost,
    Draining,
    Forbidden,
    IdleTimeout,
    LegatoError,
    Overloaded,
    ResumeGap,
    SessionExpired,
    Unauthenticated,
)
from legato.flow.backoff import INTERACTIVE
from legato.protocol.media import AudioFrame
from legato.protocol.messages import Draining as DrainingMessage
from legato.protocol.messages import (
    Error,
    FlowControl,
    Notice,
    Pong,
    Resume,
    Resumed,
    StreamStart,
)
from tests.unit.client.fakes import rest
from tests.unit.client.network import FakeServer
from tests.unit.gateway.virtual import VirtualLoop

START = StreamStart(stream_id="s", task="echo", sample_rate=16_000)
CONFIG = ClientConfig(connect_timeout=5.0)

T = TypeVar("T")


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        yield runner
        assert asyncio.all_tasks(runner.get_loop()) == set()


@asynccontextmanager
async def opened(
    server: FakeServer, config: ClientConfig = CONFIG
) -> AsyncIterator[tuple[Connection, Channel]]:
    """A connection with one stream on it, which the server knows."""
    connection = Connection(config, dial=server.dial)
    await connection.open()
    try:
        channel = connection.start(START)
        await rest()
        yield connection, channel
    finally:
        await connection.close()


def frame(number: int) -> bytes:
    return bytes([number % 256, number // 256]) * 320


async def send(channel: Channel, numbers: range) -> None:
    for number in numbers:
        await channel.send_audio(frame(number))


async def heard(channel: Channel) -> list[bytes]:
    payloads = []
    while (item := await channel.receive_item()) is not None:
        if isinstance(item, AudioFrame):
            payloads.append(item.payload)
            channel.consumed(item.sample + len(item.payload) // 2)
    return payloads


def now() -> float:
    return asyncio.get_running_loop().time()


def is_usable(connection: Connection) -> bool:
    """Asked anew each time, whatever was known before."""
    return connection.usable


async def until(condition: Callable[[], object]) -> float:
    """Let time pass until it holds; return how much that was."""
    began = now()
    while not condition():
        await asyncio.sleep(0.001)
        assert now() < began + 60
    return now() - began


async def failure(channel: Channel) -> LegatoError:
    with pytest.raises(LegatoError) as caught:
        await heard(channel)
    return caught.value


# the socket is lost


@pytest.mark.parametrize("code", [1000, 1001, 1006, 1011, 1012, 4404, 4409])
def test_a_stream_goes_on_over_the_next_socket_with_nothing_lost_or_doubled(
    runner: asyncio.Runner, code: int
) -> None:
    async def main() -> None:
        server = FakeServer()
        async with opened(server) as (connection, channel):
            await send(channel, range(10))
            await rest()
            server.sockets[0].cut(code)
            await rest()
            assert not is_usable(connection)
            await send(channel, range(10, 20))
            took = await until(lambda: connection.usable)
            channel.finish()
            assert await heard(channel) == [frame(number) for number in range(20)]
            assert server.streams["s"].up == [frame(number) for number in range(20)]
            assert channel.resumes == 1
            assert took <= INTERACTIVE.base + 0.01

    runner.run(main())


def test_what_was_on_its_way_when_the_socket_broke_is_sent_again(runner: asyncio.Runner) -> None:
    async def main() -> None:
        server = FakeServer()
        async with opened(server) as (_, channel):
            await send(channel, range(5))
            await rest()
            server.sockets[0].silent = True  # these five never arrive
            await send(channel, range(5, 10))
            await rest()
            server.sockets[0].cut()
            channel.finish()
            assert await heard(channel) == [frame(number) for number in range(10)]

    runner.run(main())


def test_the_application_may_know_that_a_stream_is_sought_and_found(
    runner: asyncio.Runner,
) -> None:
    async def main() -> None:
        server = FakeServer(answers=[None, ConnectionLost("not yet")])
        async with opened(server) as (connection, channel):
            told: list[str] = []
            channel.on_notice = lambda notice: told.append(notice.kind)
            server.sockets[0].cut()
            await until(lambda: connection.usable)
            assert told == ["recovering", "restored"]

    runner.run(main())


def test_input_waits_in_the_bounded_queue(runner: asyncio.Runner) -> None:
    async def main() -> None:
        server = FakeServer()
        async with opened(server) as (_, channel):
            server.down = True
            server.sockets[0].cut()
            await rest()
            producer = asyncio.create_task(send(channel, range(200)))
            await asyncio.sleep(3.0)
            assert channel.stream.out.queued == 64
            server.down = False
            await producer
            channel.finish()
            assert len(await heard(channel)) == 200

    runner.run(main())


def test_several_streams_of_a_connection_go_on_together(runner: asyncio.Runner) -> None:
    async def main() -> None:
        server = FakeServer()
        async with opened(server) as (connection, first):
            second = connection.start(msgspec.structs.replace(START, stream_id="second"))
            await send(second, range(3))
            await rest()
            server.sockets[0].cut()
            first.finish()
            second.finish()
            assert (await heard(first), len(await heard(second))) == ([], 3)
            assert (first.resumes, second.resumes) == (1, 1)

    runner.run(main())


def test_a_stream_whose_start_was_lost_is_started_again(runner: asyncio.Runner) -> None:
    async def main() -> None:
        server = FakeServer()
        connection = Connection(CONFIG, dial=server.dial)
        await connection.open()
        server.sockets[0].silent = True
        channel = connection.start(START)
        await send(channel, range(3))
        server.refusals = [Error(code="session_expired", stream=1)]
        server.sockets[0].cut()
        channel.finish()
        assert len(await heard(channel)) == 3
        assert channel.resumes == 1
        await connection.close()

    runner.run(main())


def test_loss_after_loss_does_not_end_a_stream(runner: asyncio.Runner) -> None:
    async def main() -> None:
        server = FakeServer()
        async with opened(server) as (connection, channel):
            for turn in range(20):
                await send(channel, range(turn * 5, turn * 5 + 5))
                await rest(turn)
                server.sockets[-1].cut()
                await until(lambda: connection.usable)
            channel.finish()
            assert await heard(channel) == [frame(number) for number in range(100)]
            assert channel.resumes == 20
            waits = [later - before for before, later in pairwise(server.attempts)]
            assert max(waits) < 1.0

    runner.run(main())


# how long, how often


def test_attempts_are_made_until_the_servers_window_is_over(runner: asyncio.Runner) -> None:
    async def main() -> None:
        server = FakeServer(window=10.0)
        async with opened(server) as (connection, channel):
            server.down = True
            lost_at = now()
            server.sockets[0].cut()
            error = await failure(channel)
            assert isinstance(error, ConnectionLost)
            assert now() - lost_at == pytest.approx(10.0 + GRACE, abs=0.01)
            assert "not regained in 15.0 s" in error.message
            assert "nobody is there" in error.message
            assert len(server.attempts) > 10
            assert not is_usable(connection)
            assert connection.load == 0

    runner.run(main())


def test_the_profile_may_allow_only_so_many_tries(runner: asyncio.Runner) -> None:
    async def main() -> None:
        server = FakeServer(window=10_000.0)
        async with opened(server, replace(CONFIG, reconnect="articles")) as (_, channel):
            server.down = True
            server.sockets[0].cut()
            error = await failure(channel)
            assert "10 tries" in error.message
            assert len(server.attempts) == 11

    runner.run(main())


def test_without_a_profile_the_streams_fail_at_once(runner: asyncio.Runner) -> None:
    async def main() -> None:
        server = FakeServer()
        async with opened(server, replace(CONFIG, reconnect=None)) as (_, channel):
            server.sockets[0].cut()
            assert "close code 1006" in (await failure(channel)).message
            assert len(server.attempts) == 1

    runner.run(main())


def test_without_a_window_the_streams_fail_at_once(runner: asyncio.Runner) -> None:
    async def main() -> None:
        server = FakeServer(window=0.0)
        async with opened(server) as (_, channel):
            server.sockets[0].cut()
            assert "close code 1006" in (await failure(channel)).message
            assert len(server.attempts) == 1

    runner.run(main())


def test_a_stream_that_cannot_be_resumed_fails_at_once_and_the_others_go_on(
    runner: asyncio.Runner,
) -> None:
    async def main() -> None:
        server = FakeServer()
        async with opened(server) as (connection, channel):
            other = connection.start(msgspec.structs.replace(START, stream_id="other"))
            await rest()
            assert other.started is not None
            other.started.resumable = False
            server.sockets[0].cut()
            assert isinstance(await failure(other), ConnectionLost)
            await until(lambda: connection.usable)
            channel.finish()
            assert await heard(channel) == []
            assert connection.load == 0

    runner.run(main())


def test_a_connection_without_streams_is_not_sought_again(runner: asyncio.Runner) -> None:
    async def main() -> None:
        server = FakeServer()
        connection = Connection(CONFIG, dial=server.dial)
        await connection.open()
        server.sockets[0].cut()
        await asyncio.sleep(5.0)
        assert (len(server.attempts), connection.usable) == (1, False)
        await connection.close()

    runner.run(main())


def test_the_server_may_say_when_to_come_back(runner: asyncio.Runner) -> None:
    async def main() -> None:
        full = ConnectionLost("no room", retry_after=3.0)
        server = FakeServer(answers=[None, full])
        async with opened(server) as (connection, channel):
            server.sockets[0].say(
                Error(code="overloaded", message="full", retryable=True, retry_after=2.0)
            )
            await rest()
            assert not is_usable(connection)
            began = now()
            await until(lambda: connection.usable)
            first, second = (at - began for at in server.attempts[1:])
            assert 2.0 <= first <= 2.25
            assert 3.0 <= second - first <= 3.5
            assert channel.resumes == 1

    runner.run(main())


def test_a_server_that_wants_more_patience_than_it_has_is_given_up(runner: asyncio.Runner) -> None:
    async def main() -> None:
        server = FakeServer(window=10.0, answers=[None, ConnectionLost("no", retry_after=60.0)])
        async with opened(server) as (_, channel):
            server.sockets[0].cut()
            began = now()
            assert "1 try" in (await failure(channel)).message
            assert now() - began < 1.0

    runner.run(main())


# refusals


@pytest.mark.parametrize("error", [Unauthenticated("no key"), Forbidden("not here")])
def test_who_is_not_let_in_any_more_is_told_so_at_once(
    runner: asyncio.Runner, error: LegatoError
) -> None:
    async def main() -> None:
        server = FakeServer(answers=[None, error])
        async with opened(server) as (_, channel):
            server.sockets[0].cut()
            assert await failure(channel) is error
            assert len(server.attempts) == 2

    runner.run(main())


@pytest.mark.parametrize(("code", "kind"), [(4401, Unauthenticated), (4403, Forbidden)])
def test_a_close_that_says_no_is_not_tried_again(
    runner: asyncio.Runner, code: int, kind: type[LegatoError]
) -> None:
    async def main() -> None:
        server = FakeServer()
        async with opened(server) as (_, channel):
            server.sockets[0].cut(code, "go away")
            error = await failure(channel)
            assert isinstance(error, kind)
            assert "go away" in error.message
            assert len(server.attempts) == 1

    runner.run(main())


def test_an_error_of_the_session_that_will_not_pass_ends_its_streams(
    runner: asyncio.Runner,
) -> None:
    async def main() -> None:
        server = FakeServer()
        async with opened(server) as (_, channel):
            server.sockets[0].say(Error(code="unsupported_version", message="too old"))
            assert (await failure(channel)).code == "unsupported_version"
            assert len(server.attempts) == 1

    runner.run(main())


def test_a_client_that_was_silent_too_long_comes_back(runner: asyncio.Runner) -> None:
    async def main() -> None:
        server = FakeServer()
        async with opened(server) as (connection, channel):
            server.sockets[0].say(Error(code=IdleTimeout.code))
            await rest()
            await until(lambda: connection.usable)
            assert channel.resumes == 1

    runner.run(main())


def test_a_stream_that_the_server_has_forgotten_goes_on(runner: asyncio.Runner) -> None:
    async def main() -> None:
        server = FakeServer()
        async with opened(server) as (_, channel):
            await send(channel, range(2))
            await rest()
            server.refusals = [Error(code="session_expired", stream=1)]
            server.sockets[0].cut()
            await send(channel, range(2, 5))
            channel.finish()
            assert await heard(channel) == [frame(number) for number in range(5)]
            assert server.streams["s"].up == [frame(number) for number in range(2, 5)]

    runner.run(main())


def test_a_stream_that_was_deleted_fails_and_the_others_go_on(
    runner: asyncio.Runner,
) -> None:
    async def main() -> None:
        server = FakeServer()
        async with opened(server) as (connection, channel):
            await send(channel, range(1))
            other = connection.start(msgspec.structs.replace(START, stream_id="other"))
            await rest()
            server.refusals = [Error(code="session_expired", stream=1)]
            server.deleted = frozenset({"s"})
            server.sockets[0].cut()
            with pytest.raises(SessionExpired):
                await heard(channel)
            other.finish()
            assert await heard(other) == []
            assert is_usable(connection)

    runner.run(main())


def test_a_hole_in_the_history_is_told_with_its_range(runner: asyncio.Runner) -> None:
    async def main() -> None:
        server = FakeServer()
        async with opened(server) as (_, channel):
            await send(channel, range(1))
            await rest()
            server.refusals = [Resumed(stream=1, recovered=False, missing=(320, 960))]
            server.sockets[0].cut()
            with pytest.raises(ResumeGap) as caught:
                await heard(channel)
            assert caught.value.missing == (320, 960)

    runner.run(main())


@pytest.mark.parametrize("code", [Draining.code, Overloaded.code, "bus_unavailable"])
def test_a_resume_that_is_refused_for_now_is_asked_for_again(
    runner: asyncio.Runner, code: str
) -> None:
    async def main() -> None:
        server = FakeServer(refusals=[Error(code=code, stream=1, retryable=True, retry_after=1.5)])
        async with opened(server) as (connection, channel):
            await send(channel, range(4))
            await rest()
            server.sockets[0].cut()
            took = await until(lambda: connection.usable)
            channel.finish()
            assert len(await heard(channel)) == 4
            assert len(server.sockets) == 3
            assert 1.5 <= took <= 3.0

    runner.run(main())


# silence


def test_a_silent_socket_is_raced_by_a_second_one(runner: asyncio.Runner) -> None:
    async def main() -> None:
        server = FakeServer()
        async with opened(server) as (connection, channel):
            await send(channel, range(4))
            await rest()
            server.sockets[0].silent = True
            await send(channel, range(4, 8))
            took = await until(lambda: len(server.sockets) == 2 and connection.usable)
            assert 2.0 < took <= 2.0 + PING_GRACE + INTERACTIVE.base + 0.01
            channel.finish()
            assert await heard(channel) == [frame(number) for number in range(8)]

    runner.run(main())


def test_the_old_socket_may_win_the_race(runner: asyncio.Runner) -> None:
    async def main() -> None:
        server = FakeServer()
        async with opened(server) as (connection, channel):
            server.down = True
            server.sockets[0].silent = True
            await asyncio.sleep(3.0)
            attempts = len(server.attempts)
            assert attempts > 1
            assert not is_usable(connection)
            server.sockets[0].silent = False
            server.sockets[0].say(FlowControl(rate=1.0))
            await rest()
            assert is_usable(connection)
            await asyncio.sleep(1.5)
            assert len(server.attempts) == attempts
            assert channel.resumes == 0

    runner.run(main())


def test_a_blackout_ends_when_the_network_is_back(runner: asyncio.Runner) -> None:
    async def main() -> None:
        server = FakeServer()
        async with opened(server) as (connection, channel):
            server.hangs = True
            server.sockets[0].silent = True
            await asyncio.sleep(3.0)
            server.hangs = False
            assert await until(lambda: connection.usable) <= 1.0
            channel.finish()
            assert await heard(channel) == []

    runner.run(main())


def test_silence_of_both_sockets_ends_when_the_window_does(runner: asyncio.Runner) -> None:
    async def main() -> None:
        server = FakeServer(window=5.0)
        async with opened(server) as (_, channel):
            server.hangs = True
            server.sockets[0].silent = True
            began = now()
            error = await failure(channel)
            assert "no answer in time" in error.message
            assert now() - began == pytest.approx(12.5, abs=QUICKEST + 0.1)

    runner.run(main())


def test_silence_ends_the_streams_where_nothing_else_is_sought(runner: asyncio.Runner) -> None:
    async def main() -> None:
        server = FakeServer()
        async with opened(server, replace(CONFIG, reconnect="never")) as (_, channel):
            server.sockets[0].silent = True
            began = now()
            assert "no answer for" in (await failure(channel)).message
            assert now() - began == pytest.approx(7.0, abs=0.1)

    runner.run(main())


def test_a_server_that_lets_one_in_and_says_nothing_is_left(runner: asyncio.Runner) -> None:
    async def main() -> None:
        server = FakeServer()
        async with opened(server) as (connection, channel):
            server.greets = False
            server.sockets[0].cut()
            await until(lambda: len(server.sockets) == 2)
            server.greets = True
            await until(lambda: connection.usable)
            assert len(server.sockets) == 3
            assert channel.resumes == 1

    runner.run(main())


def test_a_resume_without_an_answer_ends_when_the_window_does(runner: asyncio.Runner) -> None:
    async def main() -> None:
        server = FakeServer(window=5.0, refusals=[Notice(stream=1, kind="degraded")])
        async with opened(server) as (_, channel):
            server.sockets[0].cut()
            assert isinstance(await failure(channel), ConnectionLost)

    runner.run(main())


def test_a_stream_that_says_nothing_is_no_reason_to_worry(runner: asyncio.Runner) -> None:
    async def main() -> None:
        server = FakeServer()
        connection = Connection(CONFIG, dial=server.dial)
        await connection.open()
        await asyncio.sleep(25.0)
        channel = connection.start(START)
        await asyncio.sleep(60.0)
        assert (len(server.sockets), channel.resumes) == (1, 0)
        await connection.close()

    runner.run(main())


# draining


def test_streams_leave_a_draining_server_before_it_is_gone(runner: asyncio.Runner) -> None:
    async def main() -> None:
        server = FakeServer()
        async with opened(server) as (connection, channel):
            told: list[str] = []
            channel.on_notice = lambda notice: told.append(notice.kind)
            await send(channel, range(4))
            await rest()
            server.sockets[0].say(DrainingMessage(deadline=20.0))
            await rest()
            assert not is_usable(connection)
            assert server.sockets[0].close_code is None
            await send(channel, range(4, 8))
            await until(lambda: connection.usable)
            await until(lambda: server.sockets[0].close_code is not None)
            channel.finish()
            assert await heard(channel) == [frame(number) for number in range(8)]
            assert [type(one) for one in server.sockets[1].heard[1:2]] == [Resume]
            assert (told, channel.resumes) == ([], 1)

    runner.run(main())


def test_a_stream_that_finds_no_other_server_may_end_on_the_draining_one(
    runner: asyncio.Runner,
) -> None:
    async def main() -> None:
        server = FakeServer()
        async with opened(server) as (_, channel):
            server.down = True
            server.sockets[0].say(DrainingMessage(deadline=20.0))
            await asyncio.sleep(10.0)
            assert len(server.attempts) > 5
            channel.finish()
            assert await heard(channel) == []
            attempts = len(server.attempts)
            await asyncio.sleep(10.0)
            assert len(server.attempts) == attempts

    runner.run(main())


def test_a_server_that_is_gone_before_another_was_found_is_still_followed(
    runner: asyncio.Runner,
) -> None:
    async def main() -> None:
        server = FakeServer()
        async with opened(server) as (connection, channel):
            server.down = True
            server.sockets[0].say(DrainingMessage(deadline=20.0))
            await asyncio.sleep(20.0)
            server.sockets[0].cut(1012)
            await rest()
            server.down = False
            assert await until(lambda: connection.usable) < 1.0
            assert channel.resumes == 1

    runner.run(main())


def test_from_one_draining_server_to_another_is_no_endless_dance(runner: asyncio.Runner) -> None:
    async def main() -> None:
        refusal = Error(code=Draining.code, stream=1, retryable=True)
        server = FakeServer(refusals=[refusal] * 6)
        async with opened(server) as (connection, channel):
            server.sockets[0].say(DrainingMessage(deadline=20.0))
            await rest()
            took = await until(lambda: connection.usable)
            assert len(server.sockets) == 8
            assert took > 0.5
            assert channel.resumes == 1

    runner.run(main())


def test_who_may_not_move_stays(runner: asyncio.Runner) -> None:
    async def main() -> None:
        server = FakeServer(answers=[None, Unauthenticated("no")])
        async with opened(server) as (_, channel):
            server.sockets[0].say(DrainingMessage(deadline=20.0))
            await asyncio.sleep(5.0)
            channel.finish()
            assert await heard(channel) == []

    runner.run(main())


def test_a_draining_server_that_falls_silent_is_not_waited_for_for_ever(
    runner: asyncio.Runner,
) -> None:
    async def main() -> None:
        server = FakeServer(window=5.0)
        async with opened(server) as (_, channel):
            server.down = True
            server.sockets[0].say(DrainingMessage(deadline=20.0))
            await rest()
            server.sockets[0].silent = True
            began = now()
            assert isinstance(await failure(channel), ConnectionLost)
            assert now() - began == pytest.approx(12.5, abs=0.1)

    runner.run(main())


# leaving


def test_a_connection_that_falls_silent_without_streams_is_lost(runner: asyncio.Runner) -> None:
    async def main() -> None:
        server = FakeServer()
        connection = Connection(CONFIG, dial=server.dial)
        await connection.open()
        server.sockets[0].silent = True
        await asyncio.sleep(40.0)
        assert (len(server.attempts), is_usable(connection)) == (1, False)
        await connection.close()

    runner.run(main())


def test_a_bug_while_a_socket_is_sought_reaches_the_streams(runner: asyncio.Runner) -> None:
    async def main() -> None:
        server = FakeServer()
        server.answers = [None, ZeroDivisionError("oh")]  # type: ignore[list-item]  # a bug
        async with opened(server) as (_, channel):
            server.sockets[0].cut()
            assert "ZeroDivisionError: oh" in (await failure(channel)).message

    runner.run(main())


def test_closing_while_a_socket_is_sought_leaves_nothing_behind(runner: asyncio.Runner) -> None:
    async def main() -> None:
        server = FakeServer()
        async with opened(server) as (connection, channel):
            server.hangs = True
            server.sockets[0].cut()
            await asyncio.sleep(1.0)
            await connection.close()
            assert "closed" in (await failure(channel)).message
            assert asyncio.all_tasks() == {asyncio.current_task()}

    runner.run(main())


def test_a_search_ends_with_the_last_stream(runner: asyncio.Runner) -> None:
    async def main() -> None:
        server = FakeServer()
        async with opened(server) as (connection, channel):
            server.down = True
            server.sockets[0].cut()
            await asyncio.sleep(1.0)
            channel.stop()
            attempts = len(server.attempts)
            await asyncio.sleep(10.0)
            assert len(server.attempts) == attempts
            assert not is_usable(connection)

    runner.run(main())


def test_a_race_ends_with_the_last_stream(runner: asyncio.Runner) -> None:
    async def main() -> None:
        server = FakeServer()
        async with opened(server) as (connection, channel):
            server.down = True
            server.sockets[0].silent = True
            await asyncio.sleep(3.0)
            channel.stop()
            attempts = len(server.attempts)
            server.sockets[0].silent = False
            server.sockets[0].say(Pong(id=1, time=now()))  # to the ping, late
            await asyncio.sleep(10.0)
            assert len(server.attempts) == attempts
            assert is_usable(connection)

    runner.run(main())


def test_a_server_that_stays_full_is_told_as_it_says(runner: asyncio.Runner) -> None:
    async def main() -> None:
        server = FakeServer(answers=[ConnectionLost("full", retry_after=1.0)] * 20)
        began = now()
        with pytest.raises(ConnectionLost, match="full"):
            await Connection(CONFIG, dial=server.dial).open()
        assert now() == began + CONFIG.connect_timeout
        assert len(server.attempts) > 1

    runner.run(main())
