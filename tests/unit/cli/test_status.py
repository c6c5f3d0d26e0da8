import msgspec
import pytest
from rich.console import Console
from typer.testing import CliRunner

import legato.bus.redis  # noqa: F401  (read now: what a loop imports first blocks it)
from legato.bus.cluster import Cluster, Lease
from legato.bus.records import EngineLoad, ProcessRecord
from legato.cli.commands import application
from legato.cli.exits import Exit
from legato.cli.status import MAX_ROWS, duration, load, picture

GATEWAY = ProcessRecord(
    role="gateway",
    name="g1",
    host="box",
    pid=7,
    version="1.2",
    state="draining",
    started=1000.0,
    loop_lag=0.0123,
    streams=3,
    connections=2,
)
WORKER = ProcessRecord(
    role="worker",
    name="w[1]",
    host="box",
    pid=8,
    version="1.2",
    state="ready",
    started=1000.0,
    loop_lag=0.0,
    streams=1,
    engines=(
        EngineLoad(kind="synthesize", name="tone", state="ready", busy=1, slots=8),
        EngineLoad(kind="recognize", name="ear", state="loading", busy=0, slots=0),
    ),
)


def lease(number: int) -> Lease:
    return Lease(
        tenant="acme",
        stream_id=f"stream-{number}",
        engine="tone",
        worker="w[1]",
        age=75.5,
        deliveries=2,
    )


def cluster(leases: int) -> Cluster:
    return Cluster(
        gateways=(GATEWAY,),
        workers=(WORKER,),
        leases=tuple(map(lease, range(leases))),
        held=leases,
        waiting={"tone": 4},
        streams=3,
    )


def shown(cluster: Cluster) -> str:
    console = Console(width=200)
    with console.capture() as captured:
        console.print(picture(cluster, now=1065.0))
    return captured.get()


def test_processes_streams_and_what_waits_are_shown() -> None:
    text = shown(cluster(1))
    words = {tuple(line.split()) for line in text.splitlines()}
    head = ("process", "role", "pid", "version", "state", "up", "lag", "streams", "load")
    assert head in words
    gateway = "g1 gateway 7 1.2 draining 1 min 5 s 12 ms 3 2 connections"
    worker = "w[1] worker 8 1.2 ready 1 min 5 s 0 ms 1 tone (synthesize) 1/8, ear (recognize)"
    assert tuple(gateway.split()) in words
    assert (*worker.split(), "loading") in words
    assert ("stream-0", "acme", "tone", "w[1]", "1", "min", "15", "s", "2") in words
    assert "3 streams, 1 held by workers; waiting: 4 for tone" in text


def test_a_person_is_not_shown_thousands_of_streams() -> None:
    text = shown(cluster(MAX_ROWS + 5))
    assert text.count("stream-") == MAX_ROWS
    assert f"{MAX_ROWS + 5} held" in text


def test_an_empty_bus_is_told() -> None:
    empty = Cluster(gateways=(), workers=(), leases=(), held=0, waiting={}, streams=0)
    assert "no gateway and no worker" in shown(empty)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.9, "0 s"), (61, "1 min 1 s"), (7500, "2 h 5 min"), (200_000, "2 d 7 h")],
)
def test_times_are_for_reading(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_a_load_is_what_a_process_has_to_do() -> None:
    assert load(GATEWAY) == "2 connections"
    assert load(WORKER) == "tone (synthesize) 1/8, ear (recognize) loading"


@pytest.mark.parametrize(
    ("args", "code", "exit_"),
    [
        (("status", "--url", "ws://127.0.0.1:1"), "connection_lost", Exit.UNREACHABLE),
        (("status", "--url", "ws://a", "--bus", "redis://a"), "bad_usage", Exit.USAGE),
        (("status", "--url", "a"), "bad_usage", Exit.USAGE),
        (("status", "--bus", "memory:"), "bad_usage", Exit.USAGE),
        (("status", "--bus", "pigeon:"), "bad_settings", Exit.USAGE),
        (("status", "--bus", "redis://127.0.0.1:1"), "bus_unavailable", Exit.UNREACHABLE),
        (("forget",), "bad_usage", Exit.USAGE),
        (("forget", "--stream", "../x"), "bad_usage", Exit.USAGE),
        (("forget", "--tenant", "acme"), "bad_usage", Exit.USAGE),
        (("forget", "--tenant", "", "--bus", "redis://a"), "bad_usage", Exit.USAGE),
        (("forget", "--stream", "x", "--bus", "memory:"), "bad_usage", Exit.USAGE),
        (("forget", "--stream", "x", "--url", "ws://127.0.0.1:1"), "connection_lost", 4),
    ],
)
def test_what_cannot_be_is_one_sentence(args: tuple[str, ...], code: str, exit_: int) -> None:
    told = CliRunner().invoke(application(), list(args))
    assert (told.exit_code, told.stdout) == (exit_, "")
    assert told.stderr.startswith(f"legato: {code}: ")
    assert told.stderr.count("\n") == 1


def test_a_process_that_is_silent_is_marked_and_its_figures_left_out() -> None:
    worker = msgspec.structs.replace(WORKER, told=1060.0)
    picture = msgspec.structs.replace(cluster(0), workers=(worker,))
    line = next(line for line in shown(picture).splitlines() if line.startswith("w[1]"))

    assert "silent" in line
    assert "no word for 5 s" in line
    assert "tone" not in line


def test_a_process_that_has_just_written_is_shown_as_it_says() -> None:
    worker = msgspec.structs.replace(WORKER, told=1064.0)
    picture = msgspec.structs.replace(cluster(0), workers=(worker,))

    assert "tone (synthesize) 1/8" in shown(picture)
