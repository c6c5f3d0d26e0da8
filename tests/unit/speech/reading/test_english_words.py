from legato.speech.reading.english_words import MONEY, MONTH_OF, MONTHS, ROMANS, SCALES, UNITS


def test_a_year_has_twelve_months() -> None:
    assert len(MONTHS) == 12
    assert MONTH_OF["Sept"] == MONTH_OF["Sep"] == "September"


def test_what_is_counted_has_a_singular_and_a_plural() -> None:
    assert all(one and many for one, many in UNITS.values())
    assert all(one and many for one, many, _, _ in MONEY.values())


def test_roman_numerals_are_counted() -> None:
    assert (ROMANS["I"], ROMANS["XIX"]) == ("1", "19")
    assert SCALES["bn"] == "billion"
