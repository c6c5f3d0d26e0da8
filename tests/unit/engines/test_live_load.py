from legato.engines.live_load import (
    CALM,
    CROWDED,
    EASY,
    SHARE,
    Crowd,
    LiveLoad,
    processors,
)


def load_of(streams: int, cost: float, *, cores: int = 2) -> LiveLoad:
    load = LiveLoad(cores)
    for stream in range(streams):
        load.open(stream)
    load.note(cost)
    return load


def test_the_guesses_of_all_streams_stay_within_their_share() -> None:
    load = load_of(10, 0.2)
    assert 10 * 0.2 / load.interval() == SHARE * 2


def test_a_stream_counts_once_and_only_while_it_is_open() -> None:
    load = load_of(1, SHARE)
    load.open(0)
    assert load.interval() == 0.5
    load.close(0)
    load.close(0)
    assert load.interval() == 0.0


def test_nothing_is_known_before_the_first_guess() -> None:
    load = LiveLoad(2)
    load.open("one")
    assert load.interval() == 0.0
    assert not load.strained(1.0)


def test_costs_are_averaged_but_for_the_first() -> None:
    load = load_of(1, 1.0, cores=1)
    assert load.interval() == 1.0 / SHARE
    load.note(2.0)
    assert load.interval() == 1.1 / SHARE


def busy(interval: float) -> LiveLoad:
    """A load of which each stream has a guess in so many seconds."""
    return load_of(1, interval * SHARE, cores=1)


def test_a_process_is_strained_while_guesses_are_rare() -> None:
    assert not busy(CROWDED * 0.99).strained(0.0)
    assert busy(CROWDED * 1.01).strained(0.0)


def test_a_strain_outlives_its_cause_for_a_moment() -> None:
    load = busy(CROWDED * 1.01)
    assert load.strained(10.0)
    load.close(0)
    assert load.strained(10.0 + CALM - 0.01)
    assert not load.strained(10.0 + CALM)


def test_a_strain_does_not_end_before_it_is_easy() -> None:
    load = busy((CROWDED + EASY) / 2)
    assert not load.strained(0.0)
    load.note_overdue(0.0)
    for second in range(10):
        assert load.strained(float(second))
    load.close(0)
    assert not load.strained(9.0 + CALM)


def test_a_guess_that_is_overdue_is_a_strain() -> None:
    load = LiveLoad(2)
    load.note_overdue(5.0)
    assert load.strained(5.0 + CALM - 0.01)
    assert not load.strained(5.0 + CALM)


def test_as_many_compute_at_once_as_there_are_processors() -> None:
    crowd = Crowd(2)
    assert [crowd.turns.try_turn() for _ in range(3)] == [True, True, False]
    assert processors() >= 1
