import pytest

from legato.bench.reading_growth import HARD, SHORT, TAGS, hard_text
from legato.speech.reading import read_out


@pytest.mark.parametrize(("unit", "first", "last"), HARD)
def test_a_hard_text_has_its_length_and_is_read(unit: str, first: str, last: str) -> None:
    text = hard_text(unit, first, last, size=SHORT)
    assert SHORT - len(unit) < len(text) <= SHORT + len(first) + len(last)
    for tag in TAGS:
        read_out(text, tag)
