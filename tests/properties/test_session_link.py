"""Two sessions over any link: every entry arrives once and in order, or the stream says why not.

On links that lose, all but these may get lost: `hello`, `welcome` and `error`, which the protocol
never repeats (an `error` of code `sequence_gap` may get lost, as what is missing is sent again).
"""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from legato.errors import EpochChanged
from tests.simulation.link import Conditions
from tests.simulation.pair import Pair
from tests.simulation.talker import Talker

seeds = st.integers(0, 2**32)
delays = st.sampled_from([0.0, 0.02, 0.3])
jitters = st.sampled_from([0.0, 0.05, 0.5])
waits = st.sampled_from([0.0, 0.01, 0.1, 0.7, 3.0])
steps = st.sampled_from([0.001, 0.05, 0.3])
texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=9)
long_speech = st.sampled_from(["x" * 40, 35])
speech = st.tuples(st.one_of(texts, st.integers(1, 9), long_speech), st.booleans())

actions = st.one_of(
    st.tuples(st.just("say"), speech),
    st.tuples(st.just("say"), speech),
    st.tuples(st.just("cancel"), st.integers(0, 1)),
    st.tuples(st.just("wait"), waits),
    st.tuples(st.just("cut"), waits),
)
scripts = st.lists(actions, max_size=25)


def act(pair: Pair, talker: Talker, name: str, value: object) -> None:
    """Do one thing of a script."""
    match name, value:
        case "say", (str() | int() as said, bool(ends)):
            talker.say(said, ends=ends)
        case "cancel", int(back):
            talker.cancel(talker.latest - back)
        case "wait", float(seconds):
            pair.run_until(pair.now + seconds)
        case "cut", float(noticed_after):
            pair.cut(noticed_after=noticed_after)


def play(pair: Pair, script: list[tuple[str, object]]) -> Talker:
    """Act a script to its end."""
    talker = Talker(pair, "one")
    for name, value in script:
        act(pair, talker, name, value)
        talker.check()
    talker.finish()
    pair.run_until_over([talker.stream])
    talker.check_end()
    return talker


@given(seed=seeds, delay=delays, jitter=jitters, step=steps, script=scripts)
@settings(max_examples=150)
def test_everything_arrives_over_a_link_that_breaks(
    seed: int, delay: float, jitter: float, step: float, script: list[tuple[str, object]]
) -> None:
    pair = Pair(Random(seed), Conditions(delay=delay, jitter=jitter), step=step)
    talker = play(pair, script)
    heard = pair.gateway.parrots[talker.stream.start.stream_id].heard
    assert [item.seq for item in heard] == list(range(len(heard)))


@given(
    seed=seeds,
    delay=delays,
    jitter=jitters,
    loss=st.sampled_from([0.02, 0.1, 0.3]),
    script=scripts,
)
@settings(max_examples=150)
def test_everything_arrives_over_a_link_that_loses_and_reorders(
    seed: int, delay: float, jitter: float, loss: float, script: list[tuple[str, object]]
) -> None:
    conditions = Conditions(delay=delay, jitter=jitter, loss=loss, reorders=True)
    play(Pair(Random(seed), conditions, reliable=False), script)


class Sessions(RuleBasedStateMachine):
    """Several streams over a connection that breaks, to a server that may forget all."""

    @initialize(seed=seeds, delay=delays, step=steps)
    def begin(self, seed: int, delay: float, step: float) -> None:
        self.pair = Pair(Random(seed), Conditions(delay=delay), step=step)
        self.talkers = [Talker(self.pair, "stream-0", task="echo")]

    def talker(self, which: int) -> Talker:
        """One of the streams."""
        return self.talkers[which % len(self.talkers)]

    @precondition(lambda self: len(self.talkers) < 3)
    @rule()
    def start(self) -> None:
        task = ("echo", "synthesize")[len(self.talkers) % 2]
        self.talkers.append(Talker(self.pair, f"stream-{len(self.talkers)}", task=task))

    @rule(which=st.integers(0, 2), speech=speech, seconds=waits)
    def say(self, which: int, speech: tuple[str | int, bool], seconds: float) -> None:
        said, ends = speech
        self.talker(which).say(said, ends=ends)
        self.pair.run_until(self.pair.now + seconds)

    @rule(which=st.integers(0, 2))
    def finish(self, which: int) -> None:
        self.talker(which).finish()

    @rule(which=st.integers(0, 2), back=st.integers(0, 1))
    def cancel(self, which: int, back: int) -> None:
        talker = self.talker(which)
        talker.cancel(talker.latest - back)

    @rule(seconds=waits)
    def wait(self, seconds: float) -> None:
        self.pair.run_until(self.pair.now + seconds)

    @rule(outage=waits, noticed_after=waits, forgets=st.sampled_from([False, False, True]))
    def cut(self, outage: float, noticed_after: float, forgets: bool) -> None:
        self.pair.reconnect_after = outage
        self.pair.cut(noticed_after=0.0 if forgets else noticed_after)
        if forgets:
            self.pair.gateway.forget_all()

    @rule(whole=st.booleans())
    def lose(self, whole: bool) -> None:
        self.pair.gateway.lose(whole=whole)

    @rule(listening=st.booleans(), consumes=st.booleans())
    def turn_to_something_else(self, listening: bool, consumes: bool) -> None:
        self.pair.listening = listening
        self.pair.consume(consumes)

    @rule(rate=st.sampled_from([0.0, 0.5, 20.0]))
    def pace(self, rate: float) -> None:
        self.pair.client.pace(rate)

    @invariant()
    def nothing_wrong_came(self) -> None:
        for talker in self.talkers:
            talker.check()

    def teardown(self) -> None:
        if not hasattr(self, "pair"):
            return
        self.pair.listening = True
        self.pair.consume(True)
        self.pair.client.pace(50.0)
        for talker in self.talkers:
            talker.finish()
        self.pair.run_until_over([talker.stream for talker in self.talkers])
        for talker in self.talkers:
            failed = self.pair.heard[talker.stream].failed
            if failed is None or talker.stream.confirmed:
                talker.check_end()
            else:  # a repeated start was on its way when all was lost
                assert isinstance(failed.error, EpochChanged)


TestSessions = Sessions.TestCase
TestSessions.settings = settings(max_examples=100, stateful_step_count=25)
