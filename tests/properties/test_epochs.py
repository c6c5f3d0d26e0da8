"""A client whose servers lose all they know, at any moment and again and again.

The bus behind them may lose everything, or just something, of which whoever reads it is told. What
reaches the application is what would have come undisturbed, each sample at the same position.
"""

from random import Random

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from legato.errors import EpochChanged
from legato.protocol.media import AudioFrame
from legato.protocol.messages import UtteranceEnd
from tests.properties.test_session_link import act, delays, jitters, seeds, speech, steps, waits
from tests.properties.test_succession import lucks
from tests.simulation.link import Conditions
from tests.simulation.pair import Heard, Pair
from tests.simulation.succession import Luck, Succession
from tests.simulation.talker import Talker

losses = st.sampled_from(["forgets", "loses", "loses something"])
actions = st.one_of(
    st.tuples(st.just("say"), speech),
    st.tuples(st.just("say"), speech),
    st.tuples(st.just("wait"), waits),
    st.tuples(st.just("cut"), waits),
    st.tuples(losses, st.just(None)),
)
cancels = st.tuples(st.just("cancel"), st.integers(0, 1))
tasks = st.sampled_from(["echo", "synthesize"])


def play(pair: Pair, task: str, script: list[tuple[str, object]]) -> Talker:
    """Act a script, and let the stream come to its end.

    What was lost while a repeated start was on its way is no history to go on from: the client is
    told so, and the example says nothing more.
    """
    talker = Talker(pair, "one", task=task)
    for name, value in script:
        match name:
            case "forgets":
                pair.cut()
                pair.gateway.forget_all()
            case "loses" | "loses something":
                pair.gateway.lose(whole=name == "loses")
            case _:
                act(pair, talker, name, value)
        talker.check()
    talker.finish()
    pair.run_until_over([talker.stream])
    failed = pair.heard[talker.stream].failed
    if failed is not None and not talker.stream.confirmed:
        assert isinstance(failed.error, EpochChanged)
        reject()
    talker.check_end()
    return talker


def audio(heard: Heard) -> list[tuple[int, int, bytes]]:
    """Every frame, and where it is."""
    frames = [item for item in heard.items if isinstance(item, AudioFrame) and item.payload]
    return [(frame.sample, frame.utterance, frame.payload) for frame in frames]


def ends(heard: Heard) -> list[tuple[int, str, int]]:
    """Every end of an utterance, and where it is."""
    ends = [item for item in heard.items if isinstance(item, UtteranceEnd)]
    return [(end.utterance, end.reason, end.sample) for end in ends]


@given(
    seed=seeds,
    task=tasks,
    delay=delays,
    jitter=jitters,
    step=steps,
    script=st.lists(actions, max_size=25),
)
@settings(max_examples=150)
def test_what_is_heard_is_what_would_have_come_undisturbed(
    seed: int, task: str, delay: float, jitter: float, step: float, script: list[tuple[str, object]]
) -> None:
    pair = Pair(Random(seed), Conditions(delay=delay, jitter=jitter), step=step)
    talker = play(pair, task, script)
    calm = Pair(Random(seed))
    undisturbed = play(calm, task, [one for one in script if one[0] == "say"])
    heard, wanted = pair.heard[talker.stream], calm.heard[undisturbed.stream]
    assert audio(heard) == audio(wanted)
    assert ends(heard) == ends(wanted)


@given(
    seed=seeds,
    task=tasks,
    delay=delays,
    jitter=jitters,
    step=steps,
    script=st.lists(st.one_of(actions, cancels), max_size=25),
)
@settings(max_examples=150)
def test_cancels_are_heeded_whatever_is_lost(
    seed: int, task: str, delay: float, jitter: float, step: float, script: list[tuple[str, object]]
) -> None:
    pair = Pair(Random(seed), Conditions(delay=delay, jitter=jitter), step=step)
    talker = play(pair, task, script)
    said = sorted(talker.wanted)
    assert [utterance for utterance, _, _ in ends(pair.heard[talker.stream])] == said


@given(
    seed=seeds,
    luck=lucks,
    task=tasks,
    delay=delays,
    step=steps,
    script=st.lists(st.one_of(actions, cancels), max_size=25),
)
@settings(max_examples=150)
def test_a_stream_moves_between_servers_and_begins_anew(
    seed: int, luck: Luck, task: str, delay: float, step: float, script: list[tuple[str, object]]
) -> None:
    rng = Random(seed)
    pair = Pair(rng, Conditions(delay=delay), step=step)
    pair.gateway = Succession(rng, luck, step=step)
    play(pair, task, script)


@pytest.mark.parametrize("task", ["echo", "synthesize"])
def test_a_server_that_loses_all_every_moment_is_outlived(task: str) -> None:
    pair = Pair(Random(1), Conditions(delay=0.05))
    talker = Talker(pair, "one", task=task)
    for _ in range(20):
        talker.say("abc", ends=True)
        pair.run_until(pair.now + 0.3)
        pair.gateway.lose(whole=True)
    talker.finish()
    pair.run_until_over([talker.stream])
    talker.check_end()
    assert talker.stream.epoch >= 10
