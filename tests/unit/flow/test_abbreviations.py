import pytest

from legato.flow.abbreviations import STARTER_BEGINNINGS, STARTERS, Stop, stop_after


@pytest.mark.parametrize(
    ("words", "stop"),
    [
        ("house 3.5 1999 5b sat Bob's node.js x12 supercalifragilistic", Stop.WORD),
        ("Dr dr MR e.g i.e vs Lt Gen 'Dr", Stop.TITLE),
        ("No no Fig pp Oct oct etc Sat", Stop.NUMBERED),
        ("U.S U.S.A p.m P.M Ph.D Inc St B J.R.R a", Stop.NAME),
    ],
)
def test_the_word_before_tells_what_a_full_stop_may_be(words: str, stop: Stop) -> None:
    assert {stop_after(word, leads=False) for word in words.split()} == {stop}


def test_a_full_stop_without_a_word_may_end_a_sentence() -> None:
    assert stop_after("", leads=False) is stop_after("", leads=True) is Stop.WORD


@pytest.mark.parametrize("word", ["gen", "rep", "sun", "pt"])
def test_a_word_that_is_an_abbreviation_only_with_a_capital_is_ordinary_without(word: str) -> None:
    assert stop_after(word, leads=False) is Stop.WORD
    assert stop_after(word.capitalize(), leads=False) is not Stop.WORD


@pytest.mark.parametrize("word", ["1", "12", "999", "a", "B", "IV", "XXXI"])
def test_a_number_or_letter_that_leads_numbers_a_list(word: str) -> None:
    assert stop_after(word, leads=True) is Stop.LIST


@pytest.mark.parametrize("word", ["1999", "3.5", "Mix", "House", "VVVVV", "?"])
def test_another_word_that_leads_does_not(word: str) -> None:
    assert stop_after(word, leads=True) is Stop.WORD


def test_the_beginnings_of_starters_reach_every_starter() -> None:
    assert STARTERS < STARTER_BEGINNINGS
    assert {"t", "th", "the", "ev"} < STARTER_BEGINNINGS
    assert "they'" not in STARTER_BEGINNINGS
