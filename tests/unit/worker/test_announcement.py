import asyncio

from legato.audio import AudioFormat
from legato.bus.base import Registry
from legato.bus.memory import MemoryBus
from legato.bus.records import (
    ENGINE_KIND,
    TENANT,
    EngineRecord,
    decode_engine,
    engine_record_name,
)
from legato.engines.base import Ability, EngineInfo, EngineKind
from legato.engines.registry import Listing
from legato.speech import SynthesisRequest
from legato.worker.announcement import Announcement, describe
from legato.worker.config import EngineSpec, WorkerConfig
from legato.worker.pool import EnginePool
from tests.unit.worker.stage import TONE, TONE_RECOGNIZER, Running, eventually

MISSING = EngineSpec(kind=EngineKind.SYNTHESIZE, name="espeak")
REQUEST = SynthesisRequest(format=AudioFormat(16_000))


def missing_pool() -> EnginePool:
    listing = Listing(name="espeak", kind=MISSING.kind, info=None, missing="install it")
    return EnginePool(MISSING, WorkerConfig(), listing, changed=lambda: None)


async def read(registry: Registry) -> dict[str, EngineRecord]:
    records = await registry.list(TENANT, ENGINE_KIND)
    return {name: decode_engine(record.value) for name, record in records.items()}


async def test_gateways_read_what_engines_can_do() -> None:
    bus = MemoryBus()
    async with Running(TONE, TONE_RECOGNIZER) as pools:
        config = WorkerConfig(synthesizers=("tone",), recognizers=())
        await Announcement(bus.registry, [*pools, missing_pool()], config).publish()
        records = await read(bus.registry)
    assert set(records) == {"synthesize:tone", "recognize:tone", "synthesize:espeak"}
    tone = records["synthesize:tone"]
    assert (tone.state, tone.slots, tone.default, tone.deterministic) == ("ready", 8, True, True)
    assert [voice.name for voice in tone.voices] == ["tone"]
    assert tone.sample_rate is None
    espeak = records["synthesize:espeak"]
    assert (espeak.state, espeak.reason, espeak.slots) == ("unavailable", "install it", 0)
    assert not records["recognize:tone"].default
    assert records["recognize:tone"].abilities == ()


async def test_gateways_read_what_clients_may_ask_for() -> None:
    info = EngineInfo(
        name="able",
        kind=EngineKind.RECOGNIZE,
        version="1",
        format=None,
        abilities=frozenset({Ability.PUNCTUATION, Ability.HOTWORDS}),
    )
    listing = Listing(name="able", kind=info.kind, info=info)
    spec = EngineSpec(kind=info.kind, name="able")
    pool = EnginePool(spec, WorkerConfig(), listing, changed=lambda: None)
    (record,) = Announcement(MemoryBus().registry, [pool], WorkerConfig()).records()
    assert record.abilities == ("hotwords", "punctuation")


async def test_the_default_is_the_first_that_can_be_used() -> None:
    async with Running(TONE) as pools:
        config = WorkerConfig(synthesizers=("espeak", "tone"))
        records = Announcement(MemoryBus().registry, [missing_pool(), *pools], config).records()
        assert {r.name: r.default for r in records} == {"espeak": False, "tone": True}
        assert {r.name: r.order for r in records} == {"espeak": 0, "tone": 1}


async def test_if_none_can_be_used_the_first_is_named_for_its_reason() -> None:
    config = WorkerConfig(synthesizers=("espeak",))
    (record,) = Announcement(MemoryBus().registry, [missing_pool()], config).records()
    assert record.default


async def test_a_change_is_announced_at_once() -> None:
    bus = MemoryBus()
    pool = missing_pool()
    announcement = Announcement(bus.registry, [pool], WorkerConfig(announce_every=1_000))
    task = asyncio.create_task(announcement.run())

    async def reads(reason: str) -> bool:
        record = (await read(bus.registry)).get("synthesize:espeak")
        return record is not None and record.reason == reason

    await eventually(lambda: reads("install it"))
    pool.reason = "another reason"
    announcement.changed()
    await eventually(lambda: reads("another reason"))
    task.cancel()


async def test_records_are_renewed_before_they_run_out() -> None:
    bus = MemoryBus()
    announcement = Announcement(bus.registry, [missing_pool()], WorkerConfig(announce_every=0.001))
    task = asyncio.create_task(announcement.run())
    name = engine_record_name("synthesize", "espeak")
    versions: set[int] = set()

    async def renewed_twice() -> bool:
        record = await bus.registry.get(TENANT, ENGINE_KIND, name)
        if record is not None:
            versions.add(record.version)
        return len(versions) == 3

    await eventually(renewed_twice)
    task.cancel()


async def test_a_bus_that_is_away_does_not_end_the_worker() -> None:
    bus = MemoryBus()
    await bus.close()
    announcement = Announcement(bus.registry, [missing_pool()], WorkerConfig(announce_every=0.001))
    task = asyncio.create_task(announcement.run())
    await asyncio.wait((task,), timeout=0.02)
    assert not task.done()
    task.cancel()


async def test_a_worker_tells_how_busy_its_engines_are() -> None:
    async with Running(TONE) as pools:
        pool = next(iter(pools))
        await pool.open(REQUEST)
        record = describe(
            "w1", "ready", started=5.0, loop_lag=0.1, streams=1, pools=[pool, missing_pool()]
        )
    assert (record.role, record.name, record.streams) == ("worker", "w1", 1)
    tone, espeak = record.engines
    assert (tone.name, tone.state, tone.busy, tone.slots) == ("tone", "ready", 1, 8)
    assert (espeak.state, espeak.busy, espeak.slots) == ("unavailable", 0, 0)
