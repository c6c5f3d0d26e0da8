import dataclasses
import math
from types import UnionType
from typing import get_args, get_type_hints

import pytest

from legato.bounds import BOUNDS, ENGINE_BOUNDS, RELATIONS, Bound
from legato.settings import sections
from legato.worker.config import EngineSpec


def is_number(hint: object) -> bool:
    kinds = get_args(hint) if isinstance(hint, UnionType) else (hint,)
    return bool({int, float} & set(kinds))


def numbers(kind: type) -> set[str]:
    return {name for name, hint in get_type_hints(kind).items() if is_number(hint)}


def test_every_number_that_can_be_set_is_bounded() -> None:
    named = {f"{section}.{name}" for section, kind in sections().items() for name in numbers(kind)}

    assert named == set(BOUNDS)
    assert numbers(EngineSpec) == set(ENGINE_BOUNDS)


def test_what_is_set_by_default_is_allowed() -> None:
    defaults = {
        f"{section}.{field.name}": getattr(kind(), field.name)
        for section, kind in sections().items()
        for field in dataclasses.fields(kind)
    }

    for name, bound in BOUNDS.items():
        assert defaults[name] is None or bound.admits(defaults[name]), name
    for relation in RELATIONS:
        most = defaults[relation.other]
        assert most is None or defaults[relation.name] <= relation.times * most, relation


@pytest.mark.parametrize(
    ("value", "admitted"),
    [(1, True), (3, True), (0.99, False), (3.01, False), (math.nan, False), (math.inf, False)],
)
def test_both_ends_are_within(value: float, admitted: bool) -> None:
    assert Bound(1, 3).admits(value) is admitted
