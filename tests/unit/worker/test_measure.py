import pytest

from legato.worker.measure import SlotMeasure


def test_the_first_guess_gives_way_to_what_is_seen() -> None:
    measure = SlotMeasure(30.0)
    assert measure.hold == 30.0
    for _ in range(100):
        measure.note_hold(2.0)
    assert measure.hold == pytest.approx(2.0, abs=0.1)


def test_one_call_that_differs_changes_little() -> None:
    measure = SlotMeasure(1.0)
    for _ in range(50):
        measure.note_hold(1.0)
    measure.note_hold(11.0)
    assert measure.hold == pytest.approx(2.0)


def test_the_cost_is_what_a_second_of_audio_takes() -> None:
    measure = SlotMeasure(1.0)
    measure.note_work(1.0, 0.0)
    assert measure.cost == 0.0, "nothing is known"
    for _ in range(100):
        measure.note_work(0.5, 4.0)
    assert measure.cost == pytest.approx(0.125, abs=1e-3)
