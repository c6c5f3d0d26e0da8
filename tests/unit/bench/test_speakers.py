import random
import re
from dataclasses import replace
from itertools import islice

import pytest

from legato.bench.audience import Heard, Told
from legato.bench.row import Row
from legato.bench.speakers import EIGHT, LATE, poisson, sentences, story


def test_starts_are_spread_at_random_within_their_time() -> None:
    starts = poisson(random.Random(1), 64, 10.0)
    assert len(starts) == 64
    assert starts == sorted(starts)
    assert 0 < starts[0] < starts[-1] < 10.0
    assert poisson(random.Random(1), 3, 0.0) == [0.0, 0.0, 0.0]


def test_hardly_a_sentence_comes_twice() -> None:
    said = list(islice(sentences(random.Random(1)), 500))
    assert len(set(said)) > 450
    assert story(random.Random(1), 3) == " ".join(said[:3])


def test_the_speakers_are_dealt_to_all_processes() -> None:
    many = replace(EIGHT, count=5, processes=2, spread=4.0)
    plans = many.plans("host:1", random.Random(1), quick=False)
    assert [len(plan.starts) for plan in plans] == [3, 2]
    assert [len(plan.texts) for plan in plans] == [3, 2]
    assert len({text for plan in plans for text in plan.texts}) == 5


def heard(first: float = 0.1, **fields: object) -> Heard:
    return Heard(first=first, seconds=4.0, complete=True, **fields)  # type: ignore[arg-type]  # test


def rows(*ears: Heard, cpu: float = 0.1) -> list[Row]:
    return EIGHT.rows([Told(heard=list(ears), cpu=cpu)], [0.5], [0.2])


def test_the_rows_hold_the_slowest_start_and_all_gaps() -> None:
    first, gaps, cpu = rows(heard(), heard(0.3, underruns=2, stalled=0.5), heard(0.2, underruns=1))
    assert (first.value, first.ok) == (0.3, True)
    assert (gaps.value, gaps.ok) == (3, False)
    assert "of 2 streams, longest 0.50 s" in gaps.note
    assert cpu.value == 0.5


@pytest.mark.parametrize(
    ("ear", "cpu", "why"),
    [
        (heard(fault="overloaded: busy"), 0.1, "1 of 1 streams failed: overloaded: busy"),
        (Heard(complete=True), 0.1, "no audio came"),
        (heard(late=2 * LATE), 0.1, "invalid: listeners asked up to 50.0 ms late"),
        (heard(), 0.95, "invalid: listeners .* took 0.95 of a core"),
    ],
)
def test_what_is_no_measurement_says_why(ear: Heard, cpu: float, why: str) -> None:
    for row in rows(ear, cpu=cpu):
        assert row.value is None
        assert re.search(why, row.note)
