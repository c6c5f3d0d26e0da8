"""What happens to two sessions, told as stories."""

from random import Random

import pytest

from legato.protocol.messages import UtteranceEnd
from legato.session.states import StreamState
from tests.simulation.link import Conditions
from tests.simulation.pair import Pair
from tests.simulation.talker import Talker


def world(delay: float = 0.1, step: float = 0.01) -> Pair:
    return Pair(Random(1), Conditions(delay=delay), step=step)


def finish(pair: Pair, *talkers: Talker) -> None:
    for talker in talkers:
        talker.finish()
    pair.run_until_over([talker.stream for talker in talkers])
    for talker in talkers:
        talker.check_end()


def test_the_first_answer_comes_after_one_round_trip() -> None:
    pair = world(delay=0.1, step=0.0)
    talker = Talker(pair, "one")
    talker.say(1, ends=True)
    pair.run_until(0.19)
    assert pair.heard[talker.stream].items == []
    pair.run_until(0.2)
    assert len(pair.heard[talker.stream].items) == 2


@pytest.mark.parametrize("at", [0.0, 0.05, 0.15, 0.25, 0.35])
@pytest.mark.parametrize("noticed_after", [0.0, 1.0])
def test_a_cut_at_any_moment_of_the_opening_does_no_harm(at: float, noticed_after: float) -> None:
    pair = world()
    talker = Talker(pair, "one")
    talker.say("hello", ends=True)
    pair.run_until(at)
    pair.cut(noticed_after=noticed_after)
    finish(pair, talker)
    assert pair.gateway.accepted == 1


def test_a_stream_is_taken_over_from_a_connection_that_the_server_believes_alive() -> None:
    pair = world()
    talker = Talker(pair, "one")
    talker.say(3, ends=False)
    pair.run_until(1.0)
    pair.cut(noticed_after=60.0)
    talker.say(3, ends=True)
    finish(pair, talker)
    assert pair.now < 30.0


def test_two_cuts_within_a_round_trip_do_no_harm() -> None:
    pair = world(delay=0.3)
    talker = Talker(pair, "one")
    talker.say(3, ends=False)
    pair.run_until(2.0)
    pair.cut()
    pair.run_until(3.1)
    pair.cut()
    talker.say(3, ends=True)
    finish(pair, talker)


def test_a_server_that_forgot_a_stream_nobody_heard_of_gets_it_again() -> None:
    pair = world()
    talker = Talker(pair, "one")
    talker.say("hello", ends=True)
    pair.run_until(0.11)
    pair.cut()
    pair.gateway.forget_all()
    finish(pair, talker)


def test_a_server_that_forgot_what_was_heard_gets_the_rest() -> None:
    pair = world()
    talker = Talker(pair, "one")
    talker.say(3, ends=False)
    pair.run_until(2.0)
    pair.cut()
    pair.gateway.forget_all()
    talker.say(2, ends=True)
    finish(pair, talker)
    assert talker.stream.epoch == 1


def test_a_cancel_reaches_the_server_in_half_a_round_trip_whatever_waits() -> None:
    pair = world()
    talker = Talker(pair, "one")
    talker.say("x" * 3_000, ends=True)
    talker.say("x" * 3_000, ends=True)
    pair.run_until(1.0)
    talker.cancel(1)
    pair.run_until(1.21)
    (last,) = [
        item.utterance
        for item in pair.heard[talker.stream].items[-1:]
        if isinstance(item, UtteranceEnd)
    ]
    assert last == 1
    finish(pair, talker)


def test_after_the_end_of_input_an_utterance_can_still_be_cancelled() -> None:
    pair = world(step=0.5)
    talker = Talker(pair, "one")
    talker.say("hello", ends=True)
    talker.finish()
    pair.run_until(1.0)
    talker.cancel(0)
    finish(pair, talker)
    assert pair.now < 2.5


def test_a_silent_server_is_noticed_and_the_stream_goes_on() -> None:
    pair = world()
    talker = Talker(pair, "one")
    talker.say(3, ends=False)
    pair.run_until(2.0)
    assert pair.connection is not None
    pair.connection.down.cut()
    talker.say(3, ends=True)
    finish(pair, talker)


def test_one_stream_does_not_wait_for_another() -> None:
    pair = world()
    talkers = [Talker(pair, name) for name in ("one", "two")]
    talkers[0].say("x" * 40, ends=True)
    talkers[1].say(1, ends=True)
    talkers[1].finish()
    pair.run_until(1.0)
    assert talkers[1].stream.state is StreamState.ENDED
    finish(pair, *talkers)
