import asyncio

import pytest

from legato.bus.base import Committed, StreamKey
from legato.bus.memory import Bounds
from legato.bus.records import EngineRecord
from legato.errors import Draining, LegatoError, Overloaded, StreamExists, UnknownEngine
from legato.gateway.admission import Admission
from legato.gateway.catalog import Catalog, Choice
from legato.gateway.identity import Identity
from legato.gateway.queueing import seed_of
from legato.gateway.relay import Relay
from legato.gateway.streams import Streams
from legato.gateway.upkeep import TTL
from legato.protocol.messages import Ack, FlowControl, Resume, StreamStart
from tests.unit.gateway.stage import FRAME, Gateway, echo, offer

KEY = StreamKey("default", "s")
ME = Identity("default")


async def test_a_prepared_stream_has_logs_and_an_engine() -> None:
    gateway = await Gateway().open()
    start = StreamStart(stream=1, stream_id="s", task="synthesize")
    assert await gateway.streams.prepare(ME, start, token="t") == Choice("tone", "tone")
    assert await gateway.bus.logs.exists(KEY)


async def test_what_cannot_be_done_makes_no_logs() -> None:
    gateway = await Gateway().open()
    start = StreamStart(stream=1, stream_id="s", task="recognize", engine="nobody")
    with pytest.raises(UnknownEngine):
        await gateway.streams.prepare(ME, start, token="t")
    assert not await gateway.bus.logs.exists(KEY)


async def test_an_id_is_used_once() -> None:
    gateway = await Gateway().open()
    await gateway.streams.prepare(ME, echo(), token="t")
    with pytest.raises(StreamExists):
        await gateway.streams.prepare(ME, echo(), token="t")
    await gateway.streams.prepare(Identity("other"), echo(), token="t")


async def test_while_draining_nothing_is_opened_or_resumed() -> None:
    gateway = await Gateway().open()
    line = await gateway.hello()
    await line.start(echo())
    gateway.streams.draining = True
    with pytest.raises(Draining):
        await gateway.streams.prepare(ME, echo("t"), token="t")
    with pytest.raises(Draining):
        await gateway.streams.find(ME, Resume(stream=1, stream_id="s", token=line.token), token="u")
    assert await gateway.streams.find_unknown(ME, echo(), token="u") is None


async def test_while_draining_a_lost_stream_is_erased() -> None:
    gateway = await Gateway().open()
    line = await gateway.hello()
    await line.start(echo())
    gateway.streams.draining = True
    await line.cut()
    assert len(gateway.streams) == 0
    await asyncio.sleep(0.01)
    assert not await gateway.bus.logs.exists(KEY)


async def test_a_stream_that_waits_for_its_client_is_not_waited_for() -> None:
    gateway = await Gateway().open()
    line = await gateway.hello()
    await line.start(echo())
    await line.start(echo("t", 2))
    waiting = asyncio.ensure_future(gateway.streams.until_idle())
    await asyncio.sleep(1.0)
    assert not waiting.done()
    await line.cut()
    await waiting
    assert len(gateway.streams) == 2


async def test_a_resumed_stream_is_waited_for_again() -> None:
    gateway = await Gateway().open()
    line = await gateway.hello()
    await line.start(echo())
    line.say(Ack(stream=1))
    await line.cut()
    new = await gateway.hello()
    new.say(Resume(stream=1, stream_id="s", token=line.token))
    waiting = asyncio.ensure_future(gateway.streams.until_idle())
    await asyncio.sleep(1.0)
    assert not waiting.done()
    waiting.cancel()


async def test_a_raw_stream_is_never_found() -> None:
    gateway = await Gateway().open()
    line = gateway.connect()
    await line.start(echo(framing="raw"))
    with pytest.raises(LegatoError, match="no stream"):
        await gateway.streams.find(ME, Resume(stream=1, stream_id="s", token=line.token), token="u")


async def test_a_job_for_a_stream_dropped_meanwhile_is_withdrawn() -> None:
    gateway = await Gateway().open()
    line = await gateway.hello()
    await line.start(echo())
    relay = await gateway.streams.find(
        ME, Resume(stream=1, stream_id="s", token=line.token), token="u"
    )
    gateway.streams.drop(relay)
    gateway.streams.drop(relay)
    await gateway.streams.submit(relay)
    assert gateway.bus.counts()["jobs"] == 0


async def relay_of(gateway: Gateway, token: str) -> Relay:
    return await gateway.streams.find(ME, Resume(stream=1, stream_id="s", token=token), token="u")


async def test_a_served_stream_is_kept_alive() -> None:
    gateway = await Gateway(idle_timeout=10 * TTL).open()
    line = await gateway.hello()
    await line.start(echo())
    upkeep = asyncio.ensure_future(gateway.streams.keep_alive())
    await asyncio.sleep(3 * TTL)
    assert await gateway.bus.logs.exists(KEY)
    upkeep.cancel()


async def test_a_bus_that_fails_does_not_end_the_upkeep(caplog: pytest.LogCaptureFixture) -> None:
    gateway = await Gateway(idle_timeout=10 * TTL).open()
    line = await gateway.hello()
    await line.start(echo())
    relay = await relay_of(gateway, line.token)
    upkeep = asyncio.ensure_future(gateway.streams.keep_alive())
    await gateway.bus.close()
    relay.listener = None
    await asyncio.sleep(61.0)
    assert not upkeep.done()
    assert "upkeep of streams failed" in caplog.text
    upkeep.cancel()


async def test_work_that_fails_is_told_to_the_log_alone(caplog: pytest.LogCaptureFixture) -> None:
    async def broken() -> None:
        raise RuntimeError("a bug")

    gateway = await Gateway().open()
    gateway.streams.spawn(broken())
    await asyncio.sleep(0.01)
    assert "a bug" in caplog.text


async def test_closing_erases_all_streams() -> None:
    gateway = await Gateway().open()
    line = await gateway.hello()
    await line.start(echo())
    await line.start(echo("t", 2))
    line.send(FRAME)
    await gateway.streams.close()
    assert gateway.bus.counts()["streams"] == 0
    assert len(gateway.streams) == 0
    await gateway.streams.close()


async def test_logs_of_a_long_stream_stay_small() -> None:
    bounds = Bounds(log_bytes=256_000)  # 5 s
    gateway = await Gateway(bounds=bounds).open()
    line = await gateway.hello()
    await line.start(echo())
    line.say(FlowControl(rate=100.0))
    job = await gateway.work()
    for seq in range(0, 3000, 10):  # a minute, faster than it would be spoken
        line.send(*[FRAME] * 10, first=seq)
        job.play(10, first=seq)
        job.write(Committed(seq + 9, upto=320 * (seq + 10)))
        await asyncio.sleep(0.05)
        line.say(Ack(stream=1, received_seq=seq + 9))
    assert gateway.bus.counts()["logs_bytes"] < 256_000


async def test_one_task_trims_for_all_streams() -> None:
    gateway = await Gateway().open()
    line = await gateway.hello()
    jobs = []
    for number in range(1, 9):
        await line.start(echo(f"s{number}", number))
        jobs.append(await gateway.work(f"s{number}"))
    await asyncio.sleep(1.0)
    before = asyncio.all_tasks()
    for job in jobs:
        job.write(Committed(-1))
    await asyncio.sleep(0.3)
    assert asyncio.all_tasks() == before


@pytest.mark.parametrize(
    ("options", "seed"),
    [({}, 0), ({"seed": 7}, 7), ({"seed": -1}, 0), ({"seed": "7"}, 0), ({"seed": 1 << 40}, 0)],
)
def test_a_seed_is_a_small_number(options: dict[str, object], seed: int) -> None:
    assert seed_of(echo(options=options)) == seed


async def test_a_stream_that_could_not_be_served_is_refused_before_anything_is_kept() -> None:
    gateway = await Gateway().open()
    clock = asyncio.get_running_loop().time
    catalog = Catalog(gateway.bus.registry, clock)
    await offer(gateway.bus, EngineRecord(kind="recognize", name="ear", slots=1, state="ready"))
    admission = Admission(gateway.bus.registry, catalog, clock, max_wait=10.0)
    streams = Streams(gateway.bus, resume_window=30.0, catalog=catalog, admission=admission)
    who = ME

    def listen(name: str) -> StreamStart:
        return StreamStart(stream=1, stream_id=name, task="recognize", engine="ear")

    await streams.prepare(who, listen("a"), token="t")
    with pytest.raises(Overloaded, match="busy"):
        await streams.prepare(who, listen("b"), token="t")
    assert not await gateway.bus.logs.exists(StreamKey(who.tenant, "b"))
    with pytest.raises(StreamExists):  # and not refused: it is there, and may go on
        await streams.prepare(who, listen("a"), token="t")
