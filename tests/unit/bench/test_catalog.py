from pathlib import Path

import pytest

from legato.bench.benchmark import Setup
from legato.bench.catalog import ALL, UnknownBenchmark, chosen

PROMISED = {
    "serve.ready": 3.0,
    "worker.second_process.hibari": 0.30,
    "worker.second_process.moonshine": 0.30,
    "worker.second_process.slowdown": 1.05,
    "speak.first_audio.p50": 0.090,
    "speak.first_audio.p99": 0.200,
    "speak.cached.p50": 0.020,
    "speak.cached.p99": 0.100,
    "listen.final.p50": 0.250,
    "listen.final.p99": 0.500,
    "listen.endpoint.p50": 0.250,
    "listen.endpoint.p99": 0.500,
    "listen.word_errors": 5,
    "echo.cpu.vs_bare": 2.0,
    "echo.cpu.vs_pipecat": 0.5,
    "session.frame": 12.0,
    "reading.growth": 8.0,
    "echo.latency.p99": 0.010,
    "echo.latency.lost": 0,
    "cancel.silence": 0.050,
    "cancel.slot": 0.200,
    "cancel.freed.waiting": 0.050,
    "cancel.freed.working": 0.200,
    "overhead.hibari.first_audio": 0.015,
    "overhead.hibari.cpu": 0.05,
    "speakers.8.first_audio": 0.4,
    "speakers.8.underruns": 0,
    "speakers.64.pcm.first_audio": 1.0,
    "speakers.64.pcm.underruns": 0,
    "speakers.32.opus.first_audio": 1.0,
    "speakers.32.opus.underruns": 0,
    "speakers.48.opus.first_audio": 1.0,
    "speakers.48.opus.underruns": 0,
    "speakers.64.opus.first_audio": 1.0,
    "speakers.64.opus.underruns": 0,
    "listeners.8.final": 1.0,
    "listeners.8.partial_every": 2.0,
    "listeners.8.lost": 0,
    "listeners.8.untold": 0,
    "listeners.16.lost": 0,
    "listeners.16.untold": 0,
    "idle.memory": 40.0,
    "resume.cut": 0.3,
    "resume.cut.wrong": 0,
    "resume.crowd": 20.0,
    "resume.crowd.lag": 0.25,
    "resume.crowd.wrong": 0,
    "worker.killed.moving": 3.0,
    "worker.killed.silence": 1.0,
    "worker.killed.wrong": 0,
    "resume.blackout": 1.0,
    "resume.blackout.wrong": 0,
    "idle.10000.memory": 40.0,
    "idle.10000.cpu": 4.0,
    "redis.400.p99": 0.020,
    "redis.400.lost": 0,
    "redis.400.cpu": 350.0,
    "redis.1000.p99": 0.100,
    "redis.1000.lost": 0,
    "redis.1000.cpu": 200.0,
    "memory.2000.p99": 0.050,
    "memory.2000.lost": 0,
    "soak.memory.gateway": 1.0,
    "soak.memory.worker": 1.0,
    "soak.trend.gateway": 1.645,
    "soak.trend.worker": 1.645,
    "soak.tasks": 0,
    "soak.descriptors": 0,
    "soak.keys": 0,
    "soak.failed": 0,
}
"""The bounds that were agreed on; a benchmark may not loosen its own."""


def test_every_promised_bound_is_measured_and_no_other() -> None:
    bounds = {figure.name: figure.bound for one in ALL for figure in one.figures}
    assert {name: bound for name, bound in bounds.items() if bound is not None} == PROMISED


def test_a_figure_belongs_to_one_benchmark_and_begins_with_its_name() -> None:
    names = [figure.name for one in ALL for figure in one.figures]
    assert len(names) == len(set(names))


def test_no_name_means_all_in_order_but_what_must_be_named() -> None:
    opus = [f"speakers.{count}.opus" for count in (32, 48, 64)]
    assert [one for one in ALL if one not in chosen([])] == chosen([*opus, "soak"])
    assert chosen([]) == [one for one in ALL if not one.named_only]


def test_names_choose_in_the_order_of_the_catalog() -> None:
    names = [one.name for one in chosen(["wire", "echo.latency.p99", "session.frame"])]
    assert names == ["session.frame", "echo.latency", "wire.protobuf", "wire.codec"]


def test_an_unknown_name_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(UnknownBenchmark, match=r"'ecko'; there are .*echo\.cpu"):
        chosen(["wire", "ecko"])


def test_all_of_them_are_bounded_in_time() -> None:
    assert all(0 < one.timeout <= 360 for one in chosen([]))
    assert all(0 < one.timeout <= 900 for one in ALL)


@pytest.mark.parametrize("name", ["session.frame", "wire.protobuf"])
async def test_what_needs_no_server_is_measured_at_once(name: str) -> None:
    (benchmark,) = chosen([name])
    rows = await benchmark.run(Setup(quick=True, tell=lambda _: None))
    assert not benchmark.served
    assert {row.name for row in rows if row.value} == {one.name for one in benchmark.figures}


def test_the_page_has_a_place_for_the_table() -> None:
    from legato.bench.page import with_table

    page = Path(__file__).parents[3] / "docs" / "benchmarks.md"
    assert "| row |" in with_table(page.read_text("utf-8"), "| row |")
