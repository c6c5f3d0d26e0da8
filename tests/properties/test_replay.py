import pytest
from hypothesis import given
from hypothesis import strategies as st

from legato.errors import ResumeGap
from legato.flow.replay import Replay

BOUND = 20

steps = st.lists(
    st.one_of(
        st.tuples(st.just("keep"), st.integers(0, 9)),
        st.tuples(st.just("hole"), st.integers(1, 5)),
        st.tuples(st.just("receive"), st.integers(-1, 60)),
        st.tuples(st.just("release"), st.integers(-1, 60)),
    ),
    max_size=60,
)


@given(steps=steps)
def test_what_the_peer_may_lack_is_always_kept(steps: list[tuple[str, int]]) -> None:
    replay: Replay[int] = Replay(bound=BOUND)
    kept: dict[int, int] = {}
    number, done = 0, -1
    for step, value in steps:
        if step == "keep":
            replay.keep(number, number, value)
            kept[number] = value
            number += 1
        elif step == "hole":
            number += value
        elif step == "receive":
            replay.receive(min(value, number - 1))
        else:
            done = max(done, min(value, replay.received))
            replay.release(done)
        needed = [item for item in kept if item > max(replay.received, done)]
        assert replay.since(max(replay.received, done) + 1) == needed
        assert replay.total <= BOUND or replay.total == sum(kept[item] for item in needed)


@given(steps=steps, first=st.integers(0, 60))
def test_what_is_sent_again_has_no_gap_or_is_refused(
    steps: list[tuple[str, int]], first: int
) -> None:
    replay: Replay[int] = Replay(bound=BOUND)
    kept: list[int] = []
    for step, value in steps:
        if step == "keep":
            replay.keep(len(kept), len(kept), value)
            kept.append(len(kept))
        elif step == "receive":
            replay.receive(min(value, len(kept) - 1))
        elif step == "release":
            replay.release(min(value, replay.received))
    if first <= len(kept) - len(replay) - 1:
        with pytest.raises(ResumeGap):
            replay.since(first)
    else:
        assert replay.since(first) == kept[first:]
