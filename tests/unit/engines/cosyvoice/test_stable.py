from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from legato.engines.cosyvoice.stable import Stable
from legato.errors import EngineFailed

ONE: Any = SimpleNamespace(name="one")
TWO: Any = SimpleNamespace(name="two")


def test_streams_are_spread_over_the_models() -> None:
    stable = Stable([ONE, TWO], 2)
    assert [stable.take(1).name for _ in range(2)] == ["one", "two"]  # type: ignore[attr-defined]  # a fake
    assert Counter(id(stable.take(1)) for _ in range(2)) == {id(ONE): 1, id(TWO): 1}


def test_when_all_are_taken_one_has_to_come_back() -> None:
    stable = Stable([ONE], 1)
    stable.give_back(stable.take(1))
    stable.take(1)
    with pytest.raises(EngineFailed, match="became free within 0 s"):
        stable.take(0)
