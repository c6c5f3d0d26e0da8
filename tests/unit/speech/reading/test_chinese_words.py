from legato.speech.reading.chinese_words import MEASURES, MONEY, UNITS
from legato.speech.scripts import Script, script_of


def test_units_and_currencies_are_chinese_or_letters() -> None:
    for word in (*UNITS.values(), *MONEY.values()):
        assert all(script_of(char) is Script.HAN or char in "KGTB " for char in word)


def test_no_digit_place_is_a_measure_with_two() -> None:
    assert "十" not in MEASURES
    assert "月" not in MEASURES
