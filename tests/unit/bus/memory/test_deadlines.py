from hypothesis import given
from hypothesis import strategies as st

from legato.bus.memory.deadlines import SLACK, Deadlines

TIMES = st.integers(0, 20).map(float)
ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("set"), st.integers(0, 5), TIMES),
        st.tuples(st.just("discard"), st.integers(0, 5), TIMES),
        st.tuples(st.just("take"), st.just(0), TIMES),
    )
)


def test_what_is_due_comes_out_earliest_first() -> None:
    deadlines: Deadlines[str] = Deadlines()
    for key, due in (("c", 3.0), ("a", 1.0), ("b", 2.0), ("d", 4.0)):
        deadlines.set(key, due)
    assert deadlines.take(3.0) == ["a", "b", "c"]
    assert deadlines.take(3.0) == []
    assert len(deadlines) == 1


def test_a_deadline_moves_later() -> None:
    deadlines: Deadlines[str] = Deadlines()
    deadlines.set("a", 1.0)
    deadlines.set("a", 5.0)
    assert deadlines.take(4.0) == []
    assert deadlines.next() == 5.0
    assert deadlines.take(5.0) == ["a"]


def test_a_deadline_that_moved_keeps_its_place_among_those_that_are_due() -> None:
    deadlines: Deadlines[str] = Deadlines()
    deadlines.set("a", 1.0)
    deadlines.set("a", 3.0)
    deadlines.set("b", 2.0)
    assert deadlines.take(9.0) == ["b", "a"]


def test_a_deadline_moves_earlier() -> None:
    deadlines: Deadlines[str] = Deadlines()
    deadlines.set("a", 5.0)
    deadlines.set("a", 1.0)
    assert deadlines.next() == 1.0
    assert deadlines.take(1.0) == ["a"]
    assert deadlines.take(9.0) == []


def test_a_discarded_key_never_falls_due() -> None:
    deadlines: Deadlines[str] = Deadlines()
    deadlines.set("a", 1.0)
    deadlines.discard("a")
    deadlines.discard("b")
    assert "a" not in deadlines
    assert deadlines.next() is None
    assert deadlines.take(9.0) == []


def test_a_key_has_passed_from_its_deadline_until_it_is_taken() -> None:
    deadlines: Deadlines[str] = Deadlines()
    deadlines.set("a", 1.0)
    assert [deadlines.passed("a", now) for now in (0.9, 1.0, 1.1)] == [False, True, True]
    deadlines.take(1.0)
    assert not deadlines.passed("a", 1.1)


@given(ACTS)
def test_it_keeps_what_a_dictionary_would(acts: list[tuple[str, int, float]]) -> None:
    deadlines: Deadlines[int] = Deadlines()
    model: dict[int, float] = {}
    for act, key, time in acts:
        if act == "set":
            deadlines.set(key, time)
            model[key] = time
        elif act == "discard":
            deadlines.discard(key)
            model.pop(key, None)
        else:
            due = {key: at for key, at in model.items() if at <= time}
            taken = deadlines.take(time)
            assert sorted(taken) == sorted(due)
            assert [due[key] for key in taken] == sorted(due.values())
            model = {key: at for key, at in model.items() if key not in due}
        assert len(deadlines) == len(model)
        coming = deadlines.next()
        assert (coming is None) == (not model)
        assert coming is None or coming <= min(model.values())


def test_keys_that_come_and_go_leave_nothing_behind() -> None:
    deadlines: Deadlines[int] = Deadlines()
    looks = 0
    for key in range(1000):
        deadlines.set(key, 1e6 + key)
        deadlines.discard(key)
    deadlines.set(-1, 2e6)
    while (coming := deadlines.next()) is not None:
        looks += 1
        deadlines.take(coming)
    assert looks <= SLACK + 2
