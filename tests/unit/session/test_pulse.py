import pytest

from legato.protocol.messages import Heartbeat, Pong
from legato.session.pulse import Pulse


def beating() -> Pulse:
    pulse = Pulse()
    pulse.heartbeat = Heartbeat(idle=30.0, active=2.0, timeout=5.0)
    pulse.begin(10.0, asking=False)
    return pulse


@pytest.mark.parametrize(("active", "due_at"), [(False, 40.0), (True, 12.0)])
def test_silence_makes_a_ping_due(active: bool, due_at: float) -> None:
    assert beating().due_at(active=active) == due_at


def test_what_is_heard_puts_the_ping_off() -> None:
    pulse = beating()
    pulse.hear(11.5)
    assert pulse.due_at(active=True) == 13.5


def test_silence_after_a_ping_counts_as_loss() -> None:
    pulse = beating()
    pulse.ask(12.0)
    assert pulse.asking
    assert pulse.due_at(active=True) == 17.0
    assert pulse.silence(17.0) == 7.0


def test_data_is_as_good_as_a_pong() -> None:
    pulse = beating()
    pulse.ask(12.0)
    pulse.hear(16.0)
    assert pulse.due_at(active=True) == 21.0


def test_hello_asks_as_well() -> None:
    pulse = Pulse()
    pulse.begin(1.0, asking=True)
    assert pulse.due_at(active=False) == 1.0 + Heartbeat().timeout


def test_a_pong_measures_the_round_trip() -> None:
    pulse = beating()
    ping = pulse.ask(12.0)
    pulse.answered(Pong(id=ping.id, time=ping.time), 12.25)
    assert pulse.rtt == 0.25
    assert not pulse.asking


def test_the_pong_of_an_older_ping_is_no_answer() -> None:
    pulse = beating()
    old = pulse.ask(12.0)
    pulse.ask(14.0)
    pulse.answered(Pong(id=old.id), 14.1)
    assert pulse.asking


def test_a_pong_that_nobody_asked_for_is_ignored() -> None:
    pulse = beating()
    pulse.answered(Pong(id=0), 11.0)
    assert pulse.rtt is None
