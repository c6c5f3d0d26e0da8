from random import Random

import pytest

from legato.flow.loss import NO_LOSS, BurstLoss, Loss

MANY = 20_000


def lost(loss: Loss | BurstLoss, seed: int = 1) -> list[bool]:
    lose, rng = loss.begin(), Random(seed)
    return [lose(rng) for _ in range(MANY)]


def test_nothing_is_lost_without_loss_and_all_with_all() -> None:
    assert not any(lost(NO_LOSS))
    assert all(lost(Loss(1.0)))


@pytest.mark.parametrize(
    "loss",
    [Loss(0.05), Loss(0.15), BurstLoss(to_bad=0.02, to_good=0.3, bad_share=0.8, good_share=0.01)],
)
def test_the_share_is_lost(loss: Loss | BurstLoss) -> None:
    assert sum(lost(loss)) / MANY == pytest.approx(loss.share, rel=0.1)


def test_bursts_have_their_length() -> None:
    drawn = lost(BurstLoss(to_bad=0.02, to_good=0.25))
    begun = sum(one and not before for before, one in zip([False, *drawn], drawn, strict=False))
    assert sum(drawn) / begun == pytest.approx(4.0, rel=0.1)


def test_links_have_states_of_their_own() -> None:
    loss = BurstLoss(to_bad=1.0, to_good=0.0)
    assert all(lost(loss))
    assert all(lost(loss))


def test_a_link_that_never_turns_stays_good() -> None:
    loss = BurstLoss(to_bad=0.0, to_good=0.0)
    assert loss.share == 0.0
    assert not any(lost(loss))


def test_the_same_seed_loses_the_same_packets() -> None:
    assert lost(Loss(0.1)) == lost(Loss(0.1))
    assert lost(Loss(0.1)) != lost(Loss(0.1), seed=2)


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_chance_is_between_nothing_and_all(share: float) -> None:
    with pytest.raises(ValueError, match="must be 0 to 1"):
        Loss(share)
    with pytest.raises(ValueError, match="to_good"):
        BurstLoss(to_bad=0.1, to_good=share)
