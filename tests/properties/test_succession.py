"""A client over links that break, and at each resume maybe another server.

Each server knows of a stream what those before it stored: the logs, trimmed anywhere, and the
notes. What came and was not stored by then is lost with the server that had it.
"""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from legato.errors import ResumeGap
from tests.properties.test_session_link import act, delays, jitters, scripts, seeds, steps
from tests.simulation.link import Conditions
from tests.simulation.pair import Pair
from tests.simulation.succession import Luck, Succession
from tests.simulation.talker import Talker

lucks = st.builds(
    Luck,
    moves=st.sampled_from([0.3, 0.7, 1.0]),
    trims=st.sampled_from([0.0, 0.05, 0.3, 1.0]),
    store_delay=st.sampled_from([0.0, 0.05, 0.5]),
)


def world(
    seed: int, luck: Luck, conditions: Conditions, step: float = 0.01
) -> tuple[Pair, Succession]:
    """A client, and the servers that it comes to."""
    rng = Random(seed)
    pair = Pair(rng, conditions, step=step)
    servers = Succession(rng, luck, step=step)
    pair.gateway = servers
    return pair, servers


@given(seed=seeds, luck=lucks, delay=delays, jitter=jitters, step=steps, script=scripts)
@settings(max_examples=100)
def test_everything_arrives_from_whichever_servers_it_comes(
    seed: int,
    luck: Luck,
    delay: float,
    jitter: float,
    step: float,
    script: list[tuple[str, object]],
) -> None:
    pair, servers = world(seed, luck, Conditions(delay=delay, jitter=jitter), step)
    talker = Talker(pair, "one")
    for name, value in script:
        act(pair, talker, name, value)
        talker.check()
    talker.finish()
    pair.run_until_over([talker.stream])
    talker.check_end()
    heard = servers.parrots["one"].heard
    assert [item.seq for item in heard] == list(range(len(heard)))


@given(seed=seeds, store_delay=st.sampled_from([0.0, 0.05, 0.5]), cuts=st.integers(1, 6))
@settings(max_examples=100)
def test_what_a_cancel_struck_is_struck_for_all_servers(
    seed: int, store_delay: float, cuts: int
) -> None:
    rng = Random(seed)
    luck = Luck(moves=1.0, trims=rng.choice((0.0, 0.05, 1.0)), store_delay=store_delay)
    delay, step = 0.3, 0.05  # so that frames are under way whenever the connection breaks
    pair, servers = world(seed, luck, Conditions(delay=delay), step)
    pair.client.pace(50.0)
    talker = Talker(pair, "one")
    pair.run_until(1.5)
    for _ in range(cuts):
        talker.say(rng.choice(("abcdefghijkl", 4, 20)), ends=rng.random() < 0.7)
        pair.run_until(pair.now + rng.choice((0.01, 0.4, 0.7, 0.9)))
        if rng.random() < 0.7:
            talker.cancel(talker.latest)
        pair.run_until(pair.now + rng.choice((0.0, 0.31, 0.35, 0.4, 0.5, 0.65)))
        pair.cut(noticed_after=rng.choice((0.0, 0.5)))
        pair.run_until(pair.now + rng.choice((0.0, 0.8, 1.1, 1.5)))
    pair.run_until(pair.now + 1.0)
    talker.finish()
    pair.run_until_over([talker.stream])
    talker.check_end()
    assert servers.moved > 0


@given(seed=seeds, said=st.integers(2, 12))
@settings(max_examples=50)
def test_who_lacks_what_the_servers_have_let_go_of_is_told_so(seed: int, said: int) -> None:
    pair, servers = world(seed, Luck(moves=1.0, trims=1.0), Conditions(delay=0.3))
    talker = Talker(pair, "one")
    talker.say("hello", ends=True)
    pair.run_until(3.0)
    talker.say(said, ends=True)
    pair.run_until(pair.now + 0.45)  # it has come up, and the answer is on its way
    out = servers.parrots["one"].stream.out
    lacking = out.sent_seq > talker.stream.inbound.expected - 1
    out.acknowledge(out.sent_seq, out.sent_seq, pair.now)  # a lie
    servers.work(pair.now)
    passed = servers.shelves["one"].place.seq
    lacking = lacking and passed > talker.stream.inbound.expected - 1
    pair.cut()
    talker.finish()
    pair.run_until_over([talker.stream])
    failed = pair.heard[talker.stream].failed
    if lacking:
        assert failed is not None
        assert isinstance(failed.error, ResumeGap)
    else:
        talker.check_end()
