import msgspec
import pytest

from legato.bus import cluster as pictures
from legato.bus.base import Job, StreamKey
from legato.bus.cluster import decode_cluster, encode_cluster, read_cluster
from legato.bus.memory import MemoryBus
from legato.bus.records import PROCESS_KIND, TENANT, ProcessRecord, encode_process
from legato.protocol.messages import StreamStart


def gateway(name: str, streams: int = 0) -> ProcessRecord:
    return ProcessRecord(
        role="gateway",
        name=name,
        host="box",
        pid=7,
        version="1",
        state="ready",
        started=1.0,
        loop_lag=0.0,
        streams=streams,
    )


async def announce(bus: MemoryBus, record: ProcessRecord) -> None:
    await bus.registry.put(TENANT, PROCESS_KIND, record.name, encode_process(record))


async def submit(bus: MemoryBus, name: str, engine: str, tenant: str = "acme") -> None:
    start = StreamStart(stream_id=name, task="echo")
    await bus.jobs.submit(Job(key=StreamKey(tenant, name), engine=engine, start=start))


async def test_processes_leases_and_what_waits_are_seen() -> None:
    now = 1000.0
    bus = MemoryBus(clock=lambda: now)
    worker = msgspec.structs.replace(gateway("w1"), role="worker")
    for record in (gateway("b", 2), worker, gateway("a", 3)):
        await announce(bus, record)
    for name, engine in (("s1", "tone"), ("s2", "tone"), ("s3", "hibari")):
        await submit(bus, name, engine)
    for engine in ("tone", "hibari"):
        await bus.jobs.claim((engine,), "w1", lease=60, wait=0)
        now += 5
    seen = await read_cluster(bus)
    assert [record.name for record in seen.gateways] == ["a", "b"]
    assert [record.name for record in seen.workers] == ["w1"]
    assert [(lease.stream_id, lease.worker, lease.age) for lease in seen.leases] == [
        ("s1", "w1", 10.0),
        ("s3", "w1", 5.0),
    ]
    assert {lease.tenant for lease in seen.leases} == {"acme"}
    assert (seen.held, seen.waiting, seen.streams) == (2, {"tone": 1}, 5)
    assert decode_cluster(encode_cluster(seen)) == seen


async def test_only_so_many_leases_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "MAX_LEASES", 2)
    bus = MemoryBus()
    for n in range(3):
        await submit(bus, f"s{n}", "tone")
        await bus.jobs.claim(("tone",), "w1", lease=60, wait=0)
    seen = await read_cluster(bus)
    assert (len(seen.leases), seen.held) == (2, 3)


async def test_a_record_of_another_version_is_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    bus = MemoryBus()
    await announce(bus, gateway("a"))
    await bus.registry.put(TENANT, PROCESS_KIND, "new", b'{"role":"king"}')
    assert [record.name for record in (await read_cluster(bus)).gateways] == ["a"]
    assert "cannot be read" in caplog.text
