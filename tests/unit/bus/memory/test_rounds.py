from legato.bus.memory.rounds import Rounds


def test_each_tenant_has_one_job_in_each_round() -> None:
    rounds = Rounds()
    assert [rounds.enter(tenant) for tenant in "aaab"] == [0, 1, 2, 0]


def test_who_comes_late_enters_the_round_that_is_served() -> None:
    rounds = Rounds()
    for _ in range(5):
        rounds.enter("a")
    rounds.serve("a", 3)
    assert rounds.enter("b") == 3
    assert rounds.enter("a") == 5


def test_the_round_never_goes_back() -> None:
    rounds = Rounds()
    for _ in range(5):
        rounds.enter("a")
    rounds.serve("a", 3)
    rounds.serve("a", 1)  # given back, and handed out again
    assert rounds.enter("b") == 3


def test_a_round_that_was_withdrawn_is_given_again() -> None:
    rounds = Rounds()
    assert [rounds.enter("a"), rounds.enter("a")] == [0, 1]
    rounds.withdraw("a", 0)
    assert rounds.enter("a") == 2
    rounds.withdraw("a", 2)
    assert rounds.enter("a") == 2


def test_a_tenant_is_forgotten_once_it_is_served() -> None:
    rounds = Rounds()
    rounds.enter("a")
    rounds.enter("b")
    rounds.enter("b")
    assert len(rounds) == 2
    rounds.serve("a", 0)
    rounds.withdraw("nobody", 7)
    assert len(rounds) == 1
    rounds.serve("b", 1)
    assert len(rounds) == 0
