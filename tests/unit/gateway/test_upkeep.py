import asyncio
import math
from typing import cast

import pytest

from legato.bus.base import Committed, Direction, Logs, StreamKey
from legato.bus.memory import MemoryBus
from legato.errors import BusUnavailable
from legato.gateway.meter import HEAVY_SECONDS
from legato.gateway.notes import up_note
from legato.gateway.relay import HEAVY_ENTRIES, Relay
from legato.gateway.upkeep import (
    CLOSE_TIMEOUT,
    TOUCH_EVERY,
    TRIM_BATCH,
    TRIM_EVERY,
    TRIM_PAUSE,
    TRIM_SOON,
    TTL,
    Upkeep,
)
from legato.protocol.media import AudioFrame
from legato.session.server_stream import ServerStream
from tests.unit.gateway.stage import FORMAT, FRAME, Job, echo

KEYS = [StreamKey("default", f"s{number}") for number in range(2 * TRIM_BATCH + 1)]


class RefusingLogs:
    """Logs of a bus, of which one stream's cannot be trimmed."""

    def __init__(self, logs: Logs, refused: StreamKey | None) -> None:
        self._logs = logs
        self._refused = refused

    async def trim(
        self, key: StreamKey, direction: Direction, *, upto: int, note: bytes | None = None
    ) -> None:
        if key == self._refused:
            raise BusUnavailable("away")
        await self._logs.trim(key, direction, upto=upto, note=note)

    async def touch(self, key: StreamKey, *, ttl: float) -> bool:
        return await self._logs.touch(key, ttl=ttl)


class Scene:
    """Streams of which one frame came up, and can be trimmed."""

    async def open(self, count: int = 1, refused: StreamKey | None = None) -> "Scene":
        self.bus = MemoryBus(clock=asyncio.get_running_loop().time)
        self.keys = KEYS[:count]
        self.upkeep = Upkeep(cast("Logs", RefusingLogs(self.bus.logs, refused)), lambda: self.keys)
        self.relays = [await self._relay(key) for key in self.keys]
        return self

    async def _relay(self, key: StreamKey) -> Relay:
        await self.bus.logs.create(key, ttl=TTL)
        stream = ServerStream(echo(key.stream_id), FORMAT)
        relay = Relay(
            self.bus,
            key,
            stream,
            moved=self.upkeep.note_moved,
            owing=lambda _: None,
            taken=lambda _: None,
        )
        relay.follow()
        stream.take(0, AudioFrame(FRAME, 0), 0.0)
        relay.push(stream.take_for_log())
        return relay

    def commit(self) -> None:
        """Have workers be done with the frames."""
        for key in self.keys:
            Job(self.bus, key).write(Committed(0, upto=320))

    async def kept(self) -> list[int]:
        """How many entries of up each log has."""
        return [await self._count(key) for key in self.keys]

    async def _count(self, key: StreamKey) -> int:
        trimmed = up_note(await self.bus.logs.notes(key)).entry
        return len(await self.bus.logs.read(key, Direction.UP, after=trimmed))


async def test_what_moved_is_trimmed_a_little_later() -> None:
    scene = await Scene().open(3)
    scene.commit()
    await asyncio.sleep(TRIM_EVERY - 0.01)
    assert await scene.kept() == [1, 1, 1]
    await asyncio.sleep(0.02)
    assert await scene.kept() == [0, 0, 0]


async def test_what_is_forgotten_is_not_trimmed() -> None:
    scene = await Scene().open(2)
    scene.commit()
    await asyncio.sleep(0.01)
    scene.upkeep.forget(scene.relays[0])
    scene.upkeep.forget(scene.relays[0])
    await asyncio.sleep(2 * TRIM_EVERY)
    assert await scene.kept() == [1, 0]


async def test_who_closes_trims_no_more() -> None:
    scene = await Scene().open()
    scene.commit()
    await asyncio.sleep(0.01)
    await scene.upkeep.close()
    await asyncio.sleep(2 * TRIM_EVERY)
    assert await scene.kept() == [1]


async def test_with_nothing_to_do_closing_takes_no_time() -> None:
    scene = await Scene().open()
    before = asyncio.get_running_loop().time()
    await scene.upkeep.close()
    assert asyncio.get_running_loop().time() == before


async def test_closing_waits_for_what_is_under_way_but_not_for_ever() -> None:
    scene = await Scene().open()
    done = []

    async def work(seconds: float) -> None:
        await asyncio.sleep(seconds)
        done.append(seconds)

    for seconds in (1.0, 2.0, 3600.0):
        scene.upkeep.spawn(work(seconds))
    before = asyncio.get_running_loop().time()
    await scene.upkeep.close()
    assert done == [1.0, 2.0]
    assert asyncio.get_running_loop().time() == before + CLOSE_TIMEOUT


async def test_served_streams_live_on_and_others_do_not() -> None:
    scene = await Scene().open(2)
    running = asyncio.ensure_future(scene.upkeep.keep_alive())
    await asyncio.sleep(TTL - 1.0)
    left = scene.keys.pop()
    await asyncio.sleep(TTL + TOUCH_EVERY)
    assert await scene.bus.logs.exists(KEYS[0])
    assert not await scene.bus.logs.exists(left)
    running.cancel()


async def test_a_stream_may_be_let_live_for_another_time() -> None:
    scene = await Scene().open()
    await scene.upkeep.touch(KEYS[0], 10.0)
    await asyncio.sleep(9.0)
    assert await scene.bus.logs.exists(KEYS[0])
    await asyncio.sleep(2.0)
    assert not await scene.bus.logs.exists(KEYS[0])


@pytest.mark.parametrize(
    ("error", "told"),
    [(BusUnavailable("away"), "bus_unavailable"), (RuntimeError("a bug"), "a bug")],
)
async def test_work_that_fails_is_told_to_the_log(
    error: Exception, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    scene = await Scene().open()

    async def work() -> None:
        raise error

    scene.upkeep.spawn(work())
    await asyncio.sleep(0.01)
    assert "upkeep of streams failed" in caplog.text
    assert told in caplog.text


async def test_audio_is_counted_when_a_stream_is_trimmed() -> None:
    scene = await Scene().open()
    (relay,) = scene.relays
    relay.stream.out.set_rate(math.inf, 0.0)
    scene.upkeep.note_moved(relay)
    await asyncio.sleep(TRIM_EVERY + 0.01)
    assert relay.take_trims() == {}
    assert await scene.kept() == [1]


@pytest.mark.parametrize(
    ("size_bytes", "entries"),
    [(2 * FORMAT.samples(HEAVY_SECONDS), 1), (2, HEAVY_ENTRIES)],
)
async def test_what_moved_much_is_trimmed_soon_and_only_once(size_bytes: int, entries: int) -> None:
    scene = await Scene().open()
    (relay,) = scene.relays
    for seq in range(1, entries + 1):
        relay.stream.take(seq, AudioFrame(bytes(size_bytes), seq), 0.0)
        relay.push(relay.stream.take_for_log())
    for seq in (entries - 1, entries):
        Job(scene.bus, KEYS[0]).write(Committed(seq, upto=relay.stream.received_upto))
    await asyncio.sleep(TRIM_SOON - 0.01)
    assert await scene.kept() == [min(entries + 1, 1000)]  # of more, these are read
    await asyncio.sleep(0.02)
    assert await scene.kept() == [0]
    relay.stream.take(entries + 1, AudioFrame(FRAME, entries + 1), 0.0)
    relay.push(relay.stream.take_for_log())
    scene.upkeep.note_moved(relay)
    assert not relay.is_heavy


async def test_a_trim_that_fails_does_not_keep_others(caplog: pytest.LogCaptureFixture) -> None:
    scene = await Scene().open(3, refused=KEYS[1])
    scene.commit()
    await asyncio.sleep(TRIM_EVERY + 0.1)
    assert await scene.kept() == [0, 1, 0]
    assert "upkeep of streams failed" in caplog.text
    (_, _, relay) = scene.relays
    relay.stream.take(1, AudioFrame(FRAME, 1), 0.0)
    relay.push(relay.stream.take_for_log())
    Job(scene.bus, relay.key).write(Committed(1, upto=640))
    await asyncio.sleep(TRIM_EVERY + 0.1)
    assert await scene.kept() == [0, 1, 0], "the next ones are trimmed"


async def test_many_streams_are_trimmed_in_turns() -> None:
    scene = await Scene().open(2 * TRIM_BATCH + 1)
    scene.commit()
    await asyncio.sleep(TRIM_EVERY + TRIM_PAUSE / 2)
    assert sum(await scene.kept()) == TRIM_BATCH + 1
    await asyncio.sleep(TRIM_PAUSE)
    assert sum(await scene.kept()) == 1
    await asyncio.sleep(TRIM_PAUSE)
    assert sum(await scene.kept()) == 0
