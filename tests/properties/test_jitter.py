from hypothesis import given
from hypothesis import strategies as st

from legato.flow.jitter import JitterBuffer, Playout

RATE = 1000
FRAME = 20

numbers = st.integers(min_value=0, max_value=40)
depths = st.sampled_from([0.0, 0.02, 0.06, 0.2])
steps = st.lists(
    st.one_of(
        st.tuples(st.just("push"), numbers),
        st.tuples(st.just("overlap"), numbers),
        st.tuples(st.just("pull"), st.just(0)),
        st.tuples(st.just("end"), numbers),
        st.tuples(st.just("clear"), numbers),
    ),
    max_size=120,
)


def push(buffer: JitterBuffer, number: int, now: float = 0.0, offset: int = 0) -> bool:
    return buffer.push(number * FRAME + offset, bytes([number]), samples=FRAME, now=now)


@given(depth=depths, steps=steps)
def test_every_sample_plays_at_most_once_and_in_order(
    depth: float, steps: list[tuple[str, int]]
) -> None:
    buffer, now, upto = JitterBuffer(RATE, depth), 0.0, 0
    taken = played = 0
    for step, number in steps:
        now += 0.01
        if step == "push" or step == "overlap":
            taken += push(buffer, number, now, offset=7 if step == "overlap" else 0)
        elif step == "end":
            buffer.end(number * FRAME)
        elif step == "clear":
            buffer.clear(number * FRAME)
        elif (frame := buffer.pull(now)) is not None:
            assert frame.sample >= upto
            upto = frame.end
            assert buffer.played_upto == upto
            played += 1
    assert played <= taken
    assert 0 <= buffer.buffered <= taken * FRAME / RATE
    assert buffer.underruns == 0 or buffer.stalled > 0


@given(
    depth=depths,
    order=st.permutations(range(12)),
    resent=st.lists(st.integers(min_value=0, max_value=11), max_size=10),
)
def test_what_is_there_before_it_is_due_all_plays(
    depth: float, order: list[int], resent: list[int]
) -> None:
    buffer = JitterBuffer(RATE, depth)
    for number in (*order, *resent):
        push(buffer, number)
    buffer.end(12 * FRAME)

    played = [buffer.pull(0.0) for _ in range(12)]

    assert [frame.payload[0] for frame in played if frame] == list(range(12))
    assert buffer.pull(0.0) is None
    assert (buffer.underruns, buffer.late, buffer.duplicates) == (0, 0, len(resent))


@given(depth=depths, delays=st.lists(st.floats(min_value=0, max_value=0.3), min_size=1))
def test_in_order_with_any_delay_everything_plays(depth: float, delays: list[float]) -> None:
    buffer, arrival = JitterBuffer(RATE, depth), 0.0
    arrivals = []
    for number, delay in enumerate(delays):
        arrival = max(arrival, number * 0.02 + delay)
        arrivals.append(arrival)
    played: list[int] = []
    pushed, now = 0, 0.0
    while len(played) < len(delays):
        while pushed < len(arrivals) and arrivals[pushed] <= now:
            assert push(buffer, pushed % 256, now, offset=pushed // 256 * 256 * FRAME)
            pushed += 1
            if pushed == len(arrivals):
                buffer.end(pushed * FRAME)
        if (frame := buffer.pull(now)) is not None:
            played.append(frame.sample // FRAME)
        now += 0.02

    assert played == list(range(len(delays)))


@given(delays=st.lists(st.floats(min_value=0, max_value=0.3), min_size=1, max_size=50))
def test_holding_back_the_required_delay_leaves_no_gap(delays: list[float]) -> None:
    arrivals: list[float] = []
    for number, delay in enumerate(delays):
        arrivals.append(max(arrivals[-1] if arrivals else 0.0, number * 0.02 + delay))
    buffer = JitterBuffer(RATE)
    for number, arrival in enumerate(arrivals):
        push(buffer, number, arrival)

    start = arrivals[0] + buffer.required_delay

    assert all(start + i * 0.02 >= arrival - 1e-9 for i, arrival in enumerate(arrivals))
    assert any(start + i * 0.02 <= arrival + 1e-9 for i, arrival in enumerate(arrivals))


@given(depth=st.sampled_from([0.02, 0.06, 0.2]), pushes=st.integers(min_value=1, max_value=9))
def test_nothing_starts_below_the_depth(depth: float, pushes: int) -> None:
    buffer = JitterBuffer(RATE, depth)
    for number in range(pushes):
        push(buffer, number)

    started = buffer.pull(0.0) is not None

    assert started == (pushes * FRAME >= round(depth * RATE))
    assert buffer.state is (Playout.PLAYING if started else Playout.FILLING)
