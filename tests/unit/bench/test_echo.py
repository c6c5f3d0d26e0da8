from legato.bench.echo import Contender, compared, latencies
from legato.bench.load import Load
from legato.bench.peers.speakers import BareSpeaker
from legato.bench.process import Running

RUNNING = Running(1, "127.0.0.1:1", 0.0)


def load(cost_us: float, *, late: float = 0.001, lost: int = 0) -> Load:
    return Load([0.002] * 100, [late] * 100, lost, 1000, cost_us * 1000 / 1e6)


def contender(*loads: Load) -> Contender:
    one = Contender(RUNNING, BareSpeaker)
    for number, each in enumerate(loads):
        one.take(number, each)
    return one


def test_ratios_are_of_the_same_round_and_the_median_counts() -> None:
    rows = compared(
        {
            "bare": contender(load(100), load(50), load(100)),
            "legato": contender(load(150), load(150), load(190)),
            "pipecat": contender(load(400), load(400), load(400)),
        },
        without_pipecat="",
    )
    bare, pipecat, *costs = rows
    assert (bare.name, bare.value, bare.n) == ("echo.cpu.vs_bare", 1.9, 3)
    assert (pipecat.name, pipecat.value, pipecat.ok) == ("echo.cpu.vs_pipecat", 0.375, True)
    assert {row.name: row.value for row in costs} == {
        "echo.cpu.legato": 150,
        "echo.cpu.bare": 100,
        "echo.cpu.pipecat": 400,
    }


def test_a_round_that_the_generator_spoilt_is_left_out_of_both() -> None:
    legato = contender(load(150), load(900, late=0.05))
    rows = compared(
        {"bare": contender(load(100), load(100)), "legato": legato}, without_pipecat="no"
    )
    assert (rows[0].value, rows[0].n) == (1.5, 1)
    assert "a round left out, invalid: the load generator" in rows[2].note


def test_without_one_valid_round_there_is_no_ratio() -> None:
    rows = compared(
        {"bare": contender(load(100)), "legato": contender(load(1, late=1.0))}, without_pipecat="no"
    )
    assert (rows[0].value, rows[2].value) == (None, None)
    assert rows[0].note.startswith("invalid: the load generator was late")


def test_without_pipecat_its_rows_say_so() -> None:
    rows = compared(
        {"bare": contender(load(100)), "legato": contender(load(150))},
        without_pipecat="not installed",
    )
    missing = [(row.name, row.value, row.note) for row in rows if "pipecat" in row.name]
    assert missing == [
        ("echo.cpu.vs_pipecat", None, "not installed"),
        ("echo.cpu.pipecat", None, "not installed"),
    ]


def test_a_server_that_answers_nothing_costs_nothing_that_counts() -> None:
    one = contender(Load(lateness=[0.0], lost=50))
    assert (one.costs, one.lost, one.fault) == ({}, 50, "invalid: no frame was answered")


def test_lost_frames_are_told_beside_the_cost() -> None:
    rows = compared(
        {"bare": contender(load(100)), "legato": contender(load(150, lost=3))}, without_pipecat="no"
    )
    assert "3 frames came not or late" in rows[2].note


def test_latency_is_over_all_valid_runs() -> None:
    slow, spoilt = load(1, lost=2), load(1, late=0.02, lost=7)
    slow.latencies = [0.012] * 100
    p99, lost = latencies([load(1), slow, spoilt])
    assert (p99.value, p99.n, p99.ok) == (0.012, 200, False)
    assert "from 2.0 to 12.0 ms" in p99.note
    assert "1 runs left out" in p99.note
    assert (lost.value, lost.ok) == (2, False)


def test_without_a_valid_run_there_is_no_latency() -> None:
    rows = latencies([load(1, late=0.02)])
    assert [row.verdict for row in rows] == ["not measured", "not measured"]
