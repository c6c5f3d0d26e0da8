from legato.bench.freeing import rows


def test_the_slowest_cancel_is_held_against_the_bound() -> None:
    waiting, working = rows([0.001, 0.04], [0.1, 0.25])
    assert (waiting.value, waiting.ok) == (0.04, True)
    assert (working.value, working.ok) == (0.25, False)
