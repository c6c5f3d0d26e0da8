from typing import Literal

import pytest

from legato.bus.records import EngineRecord
from legato.cli.readiness import can_speak, is_loading, is_usable, lacks

State = Literal["loading", "ready", "unavailable"]


def engine(state: State, *, default: bool = True, reason: str | None = None) -> EngineRecord:
    return EngineRecord(kind="synthesize", name="a", state=state, default=default, reason=reason)


@pytest.mark.parametrize(
    ("engines", "usable", "loading", "speaks"),
    [
        ([engine("ready")], True, False, True),
        ([engine("loading")], False, True, False),
        ([engine("unavailable")], False, False, False),
        ([engine("unavailable"), engine("ready", default=False)], False, False, False),
        ([engine("ready", default=False)], True, False, False),
        ([engine("ready"), engine("loading", default=False)], True, False, True),
        ([], False, False, False),
    ],
)
def test_those_count_that_are_chosen_by_themselves(
    engines: list[EngineRecord], usable: bool, loading: bool, speaks: bool
) -> None:
    assert is_usable(engines) is usable
    assert is_loading(engines) is loading
    assert can_speak(engines) is speaks


def test_what_is_lacking_is_named_with_the_way_out() -> None:
    engines = [engine("unavailable", reason="pip"), engine("unavailable", default=False)]

    assert lacks(engines) == ["a (synthesize): pip"]
    assert lacks([]) == ["worker.engines names none"]
    assert lacks([engine("ready")]) == []
