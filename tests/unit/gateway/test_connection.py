import asyncio
from collections.abc import Mapping

import pytest

from legato.bus.base import Committed, Direction, Job, StreamKey
from legato.bus.memory import Bounds
from legato.bus.records import EngineRecord
from legato.errors import BusUnavailable, Forbidden, ResumeGap, Unauthenticated
from legato.gateway.catalog import Catalog
from legato.gateway.identity import Identity
from legato.gateway.streams import Streams
from legato.protocol.media import AudioFrame
from legato.protocol.messages import (
    Ack,
    Cancel,
    Error,
    Notice,
    Resume,
    Stop,
    StreamEnd,
    StreamStart,
    Text,
    UtteranceEnd,
)
from tests.unit.gateway.stage import FRAME, Gateway, Line, echo, gone

KEY = StreamKey("default", "s")


# from the socket to the log, and back


async def test_what_comes_in_one_flight_is_one_entry_of_the_log() -> None:
    gateway = await Gateway().open()
    line = await gateway.hello()
    await line.start(echo())
    line.send(FRAME, FRAME, FRAME)
    entries = await gateway.bus.logs.read(KEY, Direction.UP)
    assert [
        [item.seq for item in entry.items if isinstance(item, AudioFrame)] for entry in entries
    ] == [[0, 1, 2]]
    assert (await line.hear("ack"))["received_seq"] == 2


async def test_all_streams_of_a_turn_leave_in_one_write() -> None:
    gateway = await Gateway().open()
    line = await gateway.hello()
    jobs = []
    for number, name in enumerate(("a", "b"), start=1):
        await line.start(echo(name, number))
        jobs.append(await gateway.work(name))
    await asyncio.sleep(1.0)
    before = line.socket.writes
    for job in jobs:
        job.play(3)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert len(line.frames()) == 6
    assert line.socket.writes == before + 1


async def test_hello_start_and_audio_may_come_in_one_flight() -> None:
    gateway = await Gateway().open()
    line = gateway.connect()
    line.say('{"type":"hello","version":1}', echo())
    line.send(FRAME, FRAME)
    await line.hear("stream_started")
    job = await gateway.work()
    await asyncio.sleep(0.2)
    assert [item.seq for item in job.up if isinstance(item, AudioFrame)] == [0, 1]


async def test_a_worker_s_news_and_last_word_reach_the_client() -> None:
    gateway = await Gateway().open()
    line = await gateway.hello()
    await line.start(echo())
    job = await gateway.work()
    job.write(Notice(kind="queued", position=3))
    assert (await line.hear("notice"))["position"] == 3
    job.write(Error(code="engine_failed", message="it died", retryable=True))
    assert (await line.error("engine_failed"))["stream"] == 1
    assert await gone(gateway)


# opening fails


async def test_a_refused_start_is_told_and_leaves_nothing() -> None:
    gateway = await Gateway().open()
    line = await gateway.hello()
    line.say(StreamStart(stream=1, stream_id="s", task="synthesize", engine="nobody"))
    assert (await line.error("unknown_engine"))["stream"] == 1
    assert await gone(gateway)


async def test_a_start_that_meets_a_bug_is_told_so() -> None:
    class BrokenCatalog(Catalog):
        async def engines(self, *, fresh: bool = False) -> list[EngineRecord]:
            raise RuntimeError("a bug")

    gateway = await Gateway().open()
    catalog = BrokenCatalog(gateway.bus.registry, asyncio.get_running_loop().time)
    gateway.streams = Streams(gateway.bus, resume_window=30.0, catalog=catalog)
    line = await gateway.hello()
    line.say(StreamStart(stream=1, stream_id="s", task="synthesize"))
    told = await line.error("internal")
    assert told["stream"] == 1
    assert "a bug" not in told["message"]
    assert await gone(gateway)


async def test_a_bus_that_takes_no_job_ends_the_stream_alone() -> None:
    gateway = await Gateway(bounds=Bounds(streams=1)).open()
    other = StreamKey("default", "other")
    await gateway.bus.jobs.submit(Job(key=other, engine="tone", start=echo("other")))
    line = await gateway.hello()
    line.say(echo())
    assert (await line.error("overloaded"))["stream"] == 1
    await gateway.bus.jobs.withdraw(other)
    assert await gone(gateway)
    assert (await line.start(echo("t", 2)))["stream"] == 2


async def test_a_stream_stopped_before_it_opens_leaves_nothing() -> None:
    gateway = await Gateway().open()
    line = await gateway.hello()
    line.say(echo(), Stop(stream=1))
    assert await gone(gateway)


async def test_a_stream_whose_connection_is_lost_while_it_opens_waits_for_its_client() -> None:
    gateway = await Gateway(resume_window=30.0).open()
    line = await gateway.hello()
    line.say(echo())
    await line.cut()
    assert not await gone(gateway)
    line = await gateway.hello()
    assert (await line.start(echo()))["stream_id"] == "s"
    await line.cut()
    await asyncio.sleep(30.0)
    assert await gone(gateway)


async def test_a_stop_that_comes_with_the_close_is_obeyed() -> None:
    gateway = await Gateway().open()
    line = await gateway.hello()
    await line.start(echo())
    line.connection.receive('{"type":"stop","stream":1}')
    await line.cut()
    assert await gone(gateway)


async def test_audio_that_comes_with_the_close_is_in_the_log() -> None:
    gateway = await Gateway().open()
    line = await gateway.hello()
    await line.start(echo())
    line.connection.receive(b"\x0a\x02ab")
    await line.cut()
    entries = await gateway.bus.logs.read(KEY, Direction.UP)
    assert [item for entry in entries for item in entry.items if isinstance(item, AudioFrame)]


# stop and end


async def test_stop_erases_the_stream_and_withdraws_its_job() -> None:
    gateway = await Gateway().open()
    line = await gateway.hello()
    await line.start(echo())
    line.send(FRAME)
    await gateway.work()
    line.say(Stop(stream=1))
    await asyncio.sleep(0.001)
    assert not await gateway.bus.logs.exists(KEY)
    assert await gone(gateway)


async def test_an_acknowledged_end_erases_the_stream() -> None:
    gateway = await Gateway().open()
    line = await gateway.hello()
    await line.start(echo())
    job = await gateway.work()
    job.write(StreamEnd(seq=0))
    await line.hear("stream_end")
    assert len(gateway.streams) == 1
    line.say(Ack(stream=1, received_seq=0))
    assert len(gateway.streams) == 0


# resume


def resume(token: str, *, number: int = 7, received: int = -1) -> Resume:
    return Resume(stream=number, stream_id="s", token=token, received_seq=received)


async def acquainted(gateway: Gateway) -> Line:
    """A connection whose client has acknowledged its stream."""
    line = await gateway.hello()
    await line.start(echo())
    line.say(Ack(stream=1))
    return line


async def test_a_stream_goes_on_over_a_new_connection() -> None:
    gateway = await Gateway().open()
    line = await acquainted(gateway)
    job = await gateway.work()
    job.play(4)
    await asyncio.sleep(0.2)
    assert [frame.seq for frame in line.frames()] == [0, 1, 2, 3]
    await line.cut()
    job.play(2, first=4)
    new = await gateway.hello()
    new.say(resume(line.token, received=1))
    said = await new.hear("resumed")
    assert (said["stream"], said["recovered"]) == (7, True)
    await asyncio.sleep(0.2)
    assert [(f.stream, f.seq) for f in new.frames()] == [(7, seq) for seq in (2, 3, 4, 5)]


async def test_the_token_rotates_once_the_client_has_shown_that_it_knows() -> None:
    gateway = await Gateway().open()
    line = await acquainted(gateway)
    await line.cut()
    second = await gateway.hello()
    second.say(resume(line.token))
    await second.hear("resumed")
    second.say(Ack(stream=7))
    await second.cut()
    third = await gateway.hello()
    third.say(resume(line.token))
    await third.error("session_expired")
    third.say(resume(second.token))
    await third.hear("resumed")


async def test_a_stream_is_erased_when_the_window_has_passed() -> None:
    gateway = await Gateway(resume_window=30.0).open()
    line = await acquainted(gateway)
    await line.cut()
    await asyncio.sleep(29.0)
    assert await gateway.bus.logs.exists(KEY)
    await asyncio.sleep(1.1)
    assert not await gateway.bus.logs.exists(KEY)
    new = await gateway.hello()
    new.say(resume(line.token))
    await new.error("session_expired")


async def test_the_window_begins_anew_with_each_loss() -> None:
    gateway = await Gateway(resume_window=30.0).open()
    line = await acquainted(gateway)
    for _ in range(3):
        await line.cut()
        await asyncio.sleep(20.0)
        new = await gateway.hello()
        new.say(resume(line.token))
        await new.hear("resumed")
        new.say(Ack(stream=7))
        line = new


async def test_a_live_connection_is_replaced_and_closed_when_no_stream_is_left() -> None:
    gateway = await Gateway().open()
    line = await acquainted(gateway)
    new = await gateway.hello()
    new.say(resume(line.token))
    await new.hear("resumed")
    assert (await line.error("session_replaced"))["stream"] == 1
    assert await line.ends() == (4409, "session_replaced")
    assert len(gateway.streams) == 1
    new.send(FRAME, stream=7)
    while (await new.hear("ack")).get("received_seq", -1) < 0:
        pass


async def test_a_replaced_connection_with_another_stream_stays() -> None:
    gateway = await Gateway().open()
    line = await acquainted(gateway)
    await line.start(echo("other", 2))
    new = await gateway.hello()
    new.say(resume(line.token))
    await line.error("session_replaced")
    line.send(FRAME, stream=2)
    assert (await line.hear("ack"))["stream"] == 2
    assert not line.running.done()


async def test_a_refused_resume_leaves_the_stream_parked_and_mortal() -> None:
    gateway = await Gateway(resume_window=30.0).open()
    line = await acquainted(gateway)
    await line.cut()
    new = await gateway.hello()
    await new.start(echo("other", 7))
    new.say(resume(line.token, number=7))
    await new.error("stream_exists")
    new.say(resume(line.token, number=8))
    await new.hear("resumed")
    await new.cut()
    await asyncio.sleep(31.0)
    assert await gone(gateway)


async def test_a_gap_refuses_the_resume_and_keeps_the_stream() -> None:
    gateway = await Gateway().open()
    line = await acquainted(gateway)
    await line.cut()
    new = await gateway.hello()
    new.say(resume(line.token, received=99))
    await new.error("resume_gap")
    new.say(resume(line.token))
    await new.hear("resumed")


async def test_the_last_word_that_came_meanwhile_is_told_on_resume() -> None:
    gateway = await Gateway().open()
    line = await acquainted(gateway)
    job = await gateway.work()
    await line.cut()
    job.write(Notice(kind="recovering"), Error(code="engine_timeout", message="too long"))
    await asyncio.sleep(0.1)
    new = await gateway.hello()
    new.say(resume(line.token))
    await new.hear("resumed")
    assert (await new.error("engine_timeout"))["stream"] == 7
    assert await gone(gateway)


async def test_who_was_cut_off_before_it_learnt_of_its_stream_starts_it_again() -> None:
    gateway = await Gateway().open()
    line = gateway.connect()
    line.say('{"type":"hello","version":1}', echo())
    line.send(FRAME, FRAME)
    job = await gateway.work()
    job.play(2)
    await asyncio.sleep(0.2)
    await line.cut()
    new = await gateway.hello()
    new.say(echo(stream=3))
    new.send(FRAME, FRAME, FRAME, stream=3)
    assert (await new.hear("stream_started"))["received_seq"] == 1
    await asyncio.sleep(0.2)
    assert [frame.seq for frame in new.frames()] == [0, 1]
    assert [item.seq for item in job.up if isinstance(item, AudioFrame)] == [0, 1, 2]


async def test_with_other_parameters_it_is_refused() -> None:
    gateway = await Gateway().open()
    line = await gateway.hello()
    await line.start(echo())
    await line.cut()
    new = await gateway.hello()
    new.say(echo(sample_rate=8_000))
    await new.error("stream_exists")


async def test_a_start_again_that_is_stopped_at_once_is_not_taken_over() -> None:
    gateway = await Gateway().open()
    line = await gateway.hello()
    await line.start(echo())
    await line.cut()
    new = await gateway.hello()
    new.say(echo(stream=3), Stop(stream=3))
    await asyncio.sleep(31.0)
    assert await gone(gateway)


async def test_an_acquainted_client_needs_its_token() -> None:
    gateway = await Gateway().open()
    line = await acquainted(gateway)
    await line.cut()
    new = await gateway.hello()
    new.say(echo())
    await new.error("stream_exists")


async def test_the_stream_of_a_live_connection_is_not_started_again() -> None:
    gateway = await Gateway().open()
    line = await gateway.hello()
    await line.start(echo())
    new = await gateway.hello()
    new.say(echo())
    await new.error("stream_exists")


# who speaks


@pytest.mark.parametrize(("error", "code"), [(Unauthenticated, 4401), (Forbidden, 4403)])
async def test_who_is_not_let_in_is_closed(
    error: type[Unauthenticated | Forbidden], code: int
) -> None:
    def refuse(headers: Mapping[str, str], auth: str | None) -> Identity:
        raise error

    gateway = await Gateway(identify=refuse).open()
    line = gateway.connect()
    line.say('{"type":"hello","version":1}', echo())
    assert await line.ends() == (code, error.code)
    assert await gone(gateway)


async def test_raw_framing_is_identified_by_its_headers() -> None:
    def from_header(headers: Mapping[str, str], auth: str | None) -> Identity:
        if "authorization" not in headers:
            raise Unauthenticated
        return Identity(headers["authorization"])

    gateway = await Gateway(identify=from_header).open()
    line = gateway.connect({"authorization": "me"})
    await line.start(echo(framing="raw"))
    await gateway.work(tenant="me")
    refused = gateway.connect()
    refused.say(echo(framing="raw"))
    assert await refused.ends() == (4401, "unauthenticated")


async def test_streams_of_different_tenants_do_not_meet() -> None:
    def by_key(headers: Mapping[str, str], auth: str | None) -> Identity:
        return Identity(auth or "nobody")

    gateway = await Gateway(identify=by_key).open()
    lines = []
    for key in ("a", "b"):
        line = gateway.connect()
        line.say(f'{{"type":"hello","version":1,"auth":"{key}"}}')
        await line.start(echo())
        line.say(Ack(stream=1))
        lines.append(line)
    await lines[0].cut()
    lines[1].say(resume(lines[0].token))
    await lines[1].error("session_expired")


# raw framing


async def test_raw_audio_may_come_behind_the_start_however_much_it_is() -> None:
    gateway = await Gateway().open()
    line = gateway.connect()
    line.say(echo(framing="raw"))
    before = line.socket.paused
    await line.hear("stream_started")
    assert (before, line.socket.paused) == (True, False)


async def test_a_refused_raw_start_is_read_from_again() -> None:
    line = (await Gateway().open()).connect()
    line.say(StreamStart(stream_id="s", task="recognize", engine="nobody", framing="raw"))
    before = line.socket.paused
    await line.error("unknown_engine")
    assert (before, line.socket.paused) == (True, False)


async def test_a_raw_client_ahead_of_its_worker_is_not_read_from() -> None:
    gateway = await Gateway().open()
    line = gateway.connect()
    await line.start(echo(framing="raw"))
    job = await gateway.work()
    second = bytes(32_000)
    for _ in range(20):
        line.say(second)
    before = line.socket.paused
    job.write(Committed(9, upto=160_000))
    await asyncio.sleep(0.1)
    assert (before, line.socket.paused) == (True, False)


async def test_a_raw_client_that_is_not_read_from_is_not_idle() -> None:
    gateway = await Gateway(idle_timeout=60.0).open()
    line = gateway.connect()
    await line.start(echo(framing="raw"))
    job = await gateway.work()
    for _ in range(20):
        line.say(bytes(32_000))
    await asyncio.sleep(120.0)
    assert (line.socket.paused, line.socket.closed) == (True, None)
    job.write(Committed(19, upto=320_000))
    assert await line.ends() == (4410, "idle_timeout")
    assert not line.socket.paused


async def test_what_is_sent_to_a_raw_client_can_be_trimmed() -> None:
    gateway = await Gateway().open()
    line = gateway.connect()
    await line.start(echo(framing="raw"))
    job = await gateway.work()
    job.play(40, mark=True)
    await asyncio.sleep(3.0)
    with pytest.raises(ResumeGap, match="entries 1 to 32 "):
        await gateway.bus.logs.read(job.key, Direction.DOWN)


async def test_what_one_read_brings_is_never_too_much_of_raw_audio() -> None:
    gateway = await Gateway().open()
    line = gateway.connect()
    await line.start(echo(framing="raw", sample_rate=8_000))
    line.say(bytes(16_000 * 15))
    before = line.socket.paused
    line.say(bytes(262_144), bytes(256_000))  # one was nearly whole before; the other in one read
    assert (before, line.socket.paused) == (False, True)
    assert len(gateway.streams) == 1


async def test_the_end_of_a_raw_stream_closes_its_connection() -> None:
    gateway = await Gateway().open()
    line = gateway.connect()
    await line.start(echo(framing="raw"))
    job = await gateway.work()
    job.play(1)
    job.write(UtteranceEnd(seq=1, utterance=0, reason="done"), StreamEnd(seq=2))
    assert await line.ends() == (1000, "")
    assert [message for message in line.socket.sent if message == FRAME]
    await line.hear("stream_end")
    assert await gone(gateway)


async def test_the_failure_of_a_raw_stream_closes_its_connection() -> None:
    gateway = await Gateway().open()
    line = gateway.connect()
    await line.start(echo(framing="raw"))
    job = await gateway.work()
    job.write(Error(code="engine_failed"))
    assert await line.ends() == (1000, "")
    await line.error("engine_failed")


async def test_ragged_raw_audio_fails_its_stream() -> None:
    gateway = await Gateway().open()
    line = gateway.connect()
    await line.start(echo(framing="raw"))
    line.say(b"abc")
    assert await line.ends() == (1000, "")
    await line.error("bad_audio")
    assert await gone(gateway)


async def test_a_raw_stream_ends_with_its_connection() -> None:
    gateway = await Gateway().open()
    line = gateway.connect()
    await line.start(echo(framing="raw"))
    await line.cut()
    assert await gone(gateway)


# cancel


async def test_nothing_of_a_cancelled_utterance_is_sent_after_the_cancel() -> None:
    gateway = await Gateway().open()
    line = await gateway.hello()
    await line.start(StreamStart(stream=1, stream_id="s", task="synthesize"))
    job = await gateway.work()
    line.say(Text(stream=1, seq=0, text="a long story"))
    job.play(500)
    await asyncio.sleep(0.5)
    assert line.frames()
    line.say(Cancel(stream=1, seq=1, utterance=0))
    job.play(10, first=500)
    await asyncio.sleep(5.0)
    assert line.frames() == []


# the log does not take more


async def test_a_log_that_is_gone_ends_the_stream_alone() -> None:
    gateway = await Gateway().open()
    line = await gateway.hello()
    await line.start(echo())
    await line.start(echo("other", 2))
    await gateway.bus.logs.delete(KEY)
    line.send(FRAME)
    assert (await line.error("session_expired"))["stream"] == 1
    line.send(FRAME, stream=2)
    assert (await line.hear("ack"))["stream"] == 2


async def test_a_bus_that_ends_ends_all_streams_and_no_connection() -> None:
    gateway = await Gateway().open()
    line = await gateway.hello()
    await line.start(echo())
    await gateway.bus.close()
    assert (await line.error(BusUnavailable.code))["retryable"]
    assert not line.running.done()


async def test_entries_of_a_stream_that_was_dropped_go_nowhere() -> None:
    gateway = await Gateway().open()
    line = await gateway.hello()
    await line.start(echo())
    job = await gateway.work()
    line.connection.receive(b"\x0a\x02ab")
    job.write(Error(code="engine_failed"))
    await line.error("engine_failed")
    assert await gone(gateway)
    assert not line.running.done()
