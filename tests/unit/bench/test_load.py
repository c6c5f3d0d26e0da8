import pytest

from legato.bench.load import Load


def test_cost_is_per_answered_frame() -> None:
    assert Load(frames=2000, cpu=0.25).cpu_per_frame_us == 125.0


def test_without_an_answer_there_is_no_cost() -> None:
    with pytest.raises(ValueError, match="no frame"):
        _ = Load(cpu=0.25).cpu_per_frame_us


def test_a_generator_that_keeps_its_schedule_is_believed() -> None:
    assert Load(lateness=[0.001] * 99 + [0.5]).late(0.005) == ""


def test_a_saturated_generator_is_not_taken_for_a_slow_server() -> None:
    load = Load(lateness=[0.001] * 90 + [0.03] * 10, latencies=[0.04] * 100)
    assert load.late(0.005).startswith("invalid: the load generator was late by 30.0 ms at p99")
