import pytest

from legato.bench.generator import Begun, Outcome
from legato.bench.volley import Figures, Volley

FIGURES = Figures.of("redis.400", p99=0.020, cpu_us=350.0, lost=0)
BEGUN = Begun(opening=1.0, counted_from=100.0, end=110.0)


def volley(
    *, latency: float = 0.01, late: float = 0.001, share: float = 0.2, others: float = 0.1
) -> Volley:
    outcome = Outcome(
        latencies=[latency] * 100,
        lateness=[late] * 100,
        sent=120,
        lost=1,
        answered=1000,
        cpu=share,
    )
    cpu = {"gateway": 0.2, "worker": 0.1}
    return Volley(BEGUN, outcome, cpu, busy=0.3 + 10 * (share + others))


def test_the_cost_of_a_chunk_is_that_of_all_processes() -> None:
    assert volley().cost_us() == pytest.approx(300)
    assert volley().cost_us("worker") == pytest.approx(100)


def test_without_an_answer_there_is_no_cost() -> None:
    with pytest.raises(ValueError, match="no chunk"):
        Volley(BEGUN, Outcome(), {"gateway": 1.0}).cost_us()


def test_what_others_take_is_what_neither_servers_nor_generator_do() -> None:
    assert volley(others=0.3).others == pytest.approx(0.3)
    assert Volley(BEGUN, Outcome(), {"gateway": 1.0}, busy=0.5).others == 0.0


@pytest.mark.parametrize(
    ("spoilt", "reason"),
    [
        (volley(late=0.02), "the load generator was late by 20.0 ms at p99 (above 10)"),
        (volley(share=0.95), "saturated (0.95 of a core"),
        (volley(others=0.8), "other work took 0.80 of the machine's cores (above 0.5)"),
    ],
)
def test_what_spoils_a_run_is_not_taken_for_a_slow_server(spoilt: Volley, reason: str) -> None:
    assert volley().fault(0.010) == ""
    assert spoilt.fault(0.010).startswith("invalid: ")
    assert reason in spoilt.fault(0.010)
    rows = FIGURES.rows([spoilt], late=0.010, what="400 users")
    assert [(row.value, row.verdict) for row in rows] == [(None, "not measured")] * 3
    assert reason in rows[0].note


def test_rows_are_over_the_valid_runs() -> None:
    runs = [volley(), volley(latency=0.03), volley(late=0.5, latency=9.0)]
    p99, lost, cpu = FIGURES.rows(runs, late=0.010, what="400 users")
    assert (p99.value, p99.n, p99.ok) == (0.03, 200, False)
    assert "p99 of the runs from 10.0 to 30.0 ms" in p99.note
    assert "400 users" in p99.note
    assert "1 runs left out" in p99.note
    assert (lost.value, lost.n, lost.ok) == (2, 240, False)
    assert cpu.value == pytest.approx(300)
    assert (cpu.n, cpu.ok) == (2, True)
    assert "gateway 200, worker 100 us" in cpu.note


def test_connections_that_broke_are_told_beside_what_was_lost() -> None:
    one = volley()
    one.outcome.faults = ["ConnectionResetError: out of order"]
    _, lost, _ = FIGURES.rows([one], late=0.010, what="")
    assert "1 connections broke, ConnectionResetError: out of order" in lost.note


def test_a_server_that_answers_nothing_has_only_lost() -> None:
    silent = Volley(BEGUN, Outcome(lateness=[0.0], sent=50, lost=50), {"gateway": 1.0}, busy=1.0)
    p99, lost, cpu = FIGURES.rows([silent], late=0.010, what="")
    assert (p99.value, lost.value, cpu.value) == (None, 50, None)
    assert p99.note == cpu.note == "no chunk was answered"
