import sys
from pathlib import Path

import pytest

from legato.bench.engines import HEADINGS, LEGEND, Candidate, Reading, markdown, measure

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc is asked for memory")

READING = Reading(
    engine="lark",
    kind="synthesize",
    version="1",
    device="cpu",
    streams=2,
    slots=8,
    n=10,
    wait_p50=0.0524,
    wait_p95=1.5,
    rtf_p50=0.0123,
    rtf_p95=0.5,
    audio_per_second=81.3,
    cpu_per_second=None,
    memory_mib=203.7,
    load=0.5,
)
FAULT = Reading(engine="wren", kind="recognize", note="it is not installed")


def test_a_line_has_a_cell_for_each_heading() -> None:
    cells = READING.cells()
    assert len(cells) == len(HEADINGS)
    assert cells == [
        *("lark", "cpu", "2", "8", "10", "52.4 ms", "1500 ms", "0.0123", "0.5", "81.3", "", "204"),
    ]
    assert FAULT.cells() == ["wren", "it is not installed"]


def test_a_program_is_told_seconds_and_the_machine() -> None:
    told = READING.as_json("two cores")
    assert told["wait_p95"] == 1.5
    assert told["cpu_per_second"] is None
    assert told["machine"] == "two cores"
    assert FAULT.as_json("")["note"] == "it is not installed"


def test_a_page_has_the_table_what_it_was_measured_on_and_who_is_missing() -> None:
    page = markdown([READING, FAULT], command="c", machine="m", date="d").splitlines()
    assert page[0] == "`c`, d, on m."
    assert page[2] == f"| {' | '.join(HEADINGS)} |"
    assert page[4].startswith("| lark | cpu | 2 | 8 |")
    assert page[-2:] == [LEGEND, "- `wren`: it is not installed"]


@pytest.mark.integration
async def test_engines_are_measured_in_processes_of_their_own(tmp_path: Path) -> None:
    told: list[str] = []
    readings = await measure(
        [
            Candidate(kind="synthesize", name="tone", slots=2),
            Candidate(kind="synthesize", name="no-such-engine"),
        ],
        concurrency=(1, 3),
        seconds=0.05,
        tell=told.append,
    )

    one, three, missing = readings
    assert (one.streams, one.slots, one.device) == (1, 2, "cpu")
    assert three.streams == 3
    assert three.n >= 3
    for reading in (one, three):
        assert reading.wait_p50 is not None
        assert reading.wait_p95 is not None
        assert 0 < reading.wait_p50 <= reading.wait_p95
        assert reading.rtf_p50 is not None
        assert reading.rtf_p50 > 0
        assert reading.audio_per_second is not None
        assert reading.memory_mib is not None
        assert reading.memory_mib > 5
        assert reading.load is not None
    assert "no engine 'no-such-engine'" in missing.note
    assert missing.wait_p50 is None
    assert told[:2] == ["tone: loading", "tone: 1 at once"]


@pytest.mark.integration
async def test_a_trial_that_dies_costs_the_next_nothing() -> None:
    readings = await measure(
        [
            Candidate(kind="synthesize", name="tone", options={"no_such_option": 1}),
            Candidate(kind="nonsense", name="tone"),
            Candidate(kind="synthesize", name="tone"),
        ],
        concurrency=(1,),
        seconds=0.05,
        tell=print,
    )
    assert "does not take these options" in readings[0].note
    assert "its trial ended with 1" in readings[1].note
    assert readings[2].n >= 1
