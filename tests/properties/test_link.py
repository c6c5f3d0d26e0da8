import math
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from legato.flow.link import Conditions, Link, ReliableLink
from legato.flow.loss import BurstLoss, Loss

shares = st.floats(min_value=0, max_value=0.5)
losses = st.one_of(
    st.builds(Loss, shares),
    st.builds(BurstLoss, to_bad=shares, to_good=shares, bad_share=shares, good_share=shares),
)
rates = st.floats(min_value=1e3, max_value=1e7)
traces = st.lists(
    st.tuples(st.floats(min_value=0.01, max_value=2), rates), min_size=1, max_size=4
).map(tuple)
conditions = st.builds(
    Conditions,
    delay=st.floats(min_value=0, max_value=1),
    jitter=st.floats(min_value=0, max_value=1),
    loss=losses,
    rate=st.one_of(st.just(math.inf), rates, traces),
    queue_bytes=st.integers(min_value=0, max_value=100_000),
    reorders=st.booleans(),
)
seeds = st.integers(min_value=0, max_value=2**32)
packets = st.lists(
    st.tuples(st.floats(min_value=0, max_value=0.5), st.integers(min_value=1, max_value=2000)),
    max_size=40,
)
Packets = list[tuple[float, int]]
ROUNDING = 1e-6


def carried(link: Link, packets: Packets) -> list[tuple[float, int, float | None]]:
    """Send them; returns instant, size and arrival of each."""
    now, passed = 0.0, []
    for wait, size in packets:
        now += wait
        passed.append((now, size, link.send(size, now)))
    return passed


def most_bits(rate: float | tuple[tuple[float, float], ...]) -> float:
    """The fastest that a link ever is."""
    return rate if isinstance(rate, float) else max(one for _, one in rate)


@given(conditions, seeds, packets)
def test_nothing_arrives_before_its_delay(it: Conditions, seed: int, packets: Packets) -> None:
    for link in (Link(it, Random(seed)), ReliableLink(it, Random(seed))):
        for sent, _, arrival in carried(link, packets):
            assert arrival is None or arrival >= sent + it.least_delay


@given(conditions, seeds, packets)
def test_a_link_that_does_not_reorder_keeps_the_order(
    it: Conditions, seed: int, packets: Packets
) -> None:
    links = [ReliableLink(it, Random(seed))]
    for link in links if it.reorders else [*links, Link(it, Random(seed))]:
        arrived = [arrival for _, _, arrival in carried(link, packets) if arrival is not None]
        assert arrived == sorted(arrived)


@given(conditions, seeds, packets)
def test_the_rate_is_never_exceeded(it: Conditions, seed: int, packets: Packets) -> None:
    for link in (Link(it, Random(seed)), ReliableLink(it, Random(seed))):
        bits = 0.0
        for _, size, arrival in carried(link, packets):
            if arrival is None:
                continue
            bits += size * 8
            served = max(0.0, arrival - it.least_delay)
            assert bits <= most_bits(it.rate) * (served + ROUNDING) or math.isinf(arrival)


@given(conditions, seeds, packets)
def test_no_more_waits_than_there_is_room_for(it: Conditions, seed: int, packets: Packets) -> None:
    link = Link(it, Random(seed))
    for now, _, _ in carried(link, packets):
        assert link._line.waiting(now) <= it.queue_bytes  # noqa: SLF001  (nothing shows it)


@given(conditions, seeds, packets)
def test_the_same_seed_gives_the_same_trace(it: Conditions, seed: int, packets: Packets) -> None:
    for kind in (Link, ReliableLink):
        one, other = kind(it, Random(seed)), kind(it, Random(seed))
        assert carried(one, packets) == carried(other, packets)


@given(conditions, seeds, packets)
def test_a_byte_stream_loses_nothing(it: Conditions, seed: int, packets: Packets) -> None:
    assert None not in [
        arrival for _, _, arrival in carried(ReliableLink(it, Random(seed)), packets)
    ]


@given(
    conditions,
    seeds,
    packets,
    st.floats(min_value=0, max_value=5),
    st.floats(min_value=0.01, max_value=5),
)
def test_nothing_arrives_in_a_freeze(
    it: Conditions, seed: int, packets: Packets, begin: float, length: float
) -> None:
    for link in (Link(it, Random(seed)), ReliableLink(it, Random(seed))):
        link.freeze(begin, begin + length)
        for _, _, arrival in carried(link, packets):
            assert arrival is None or not begin <= arrival < begin + length
