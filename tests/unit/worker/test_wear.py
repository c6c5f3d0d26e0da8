from random import Random

from legato.worker.wear import Uses


def uses_of(limit: int, jitter: int, seed: int) -> int:
    uses = Uses(limit, jitter, Random(seed))
    return next(number for number in range(1, 10_000) if uses.take())


def test_uses_end_within_the_jitter_of_the_limit() -> None:
    counts = {uses_of(1_000, 50, seed) for seed in range(50)}
    assert all(950 <= count <= 1_050 for count in counts)
    assert len(counts) > 10, "not all at the same time"


def test_there_is_always_a_first_use() -> None:
    assert {uses_of(1, 500, seed) for seed in range(5)} == {1}
    assert all(1 <= uses_of(3, 500, seed) <= 5 for seed in range(20))


def test_uses_end_once() -> None:
    uses = Uses(1, 0, Random(0))
    assert [uses.take(), uses.take(), uses.take()] == [True, False, False]


def test_without_a_limit_uses_never_end() -> None:
    uses = Uses(None, 500, Random(0))
    assert not any(uses.take() for _ in range(20_000))
