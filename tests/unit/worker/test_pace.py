import pytest

from legato.flow.urgency import NEVER
from legato.worker.measure import SlotMeasure
from legato.worker.pace import Pace
from tests.contract.buses import FakeClock


def covered(pace: Pace) -> float:
    return pace.caller(under_way=True).covered_until


def test_audio_covers_the_time_after_what_was_given_before() -> None:
    clock = FakeClock()
    pace = Pace("t", clock)
    assert covered(pace) == NEVER
    clock.now = 10.0
    pace.make(2.0)
    assert covered(pace) == 12.0
    clock.now = 11.0
    pace.make(3.0)
    assert covered(pace) == 15.0
    clock.now = 60.0  # the listener has heard it all, and silence
    pace.make(1.0)
    assert covered(pace) == 61.0


def test_a_call_costs_the_time_in_which_it_was_not_kept_waiting() -> None:
    clock, measure = FakeClock(), SlotMeasure(1.0)
    clock.now = 5.0
    pace = Pace("t", clock)
    for _ in range(60):
        pace.begin_call()
        clock.now += 1.0
        pace.make(4.0)
        began = clock.now
        clock.now += 30.0
        pace.wait(began)
        pace.end_call(measure)
    assert measure.cost == pytest.approx(0.25, abs=1e-3)


@pytest.mark.parametrize("flag", [False, True])
def test_a_call_is_made_for_the_stream(flag: bool) -> None:
    caller = Pace("t", FakeClock(), patient=flag).caller(under_way=not flag)
    assert (caller.tenant, caller.patient, caller.under_way) == ("t", flag, not flag)
