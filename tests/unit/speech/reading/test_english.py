import pytest

from legato.speech.reading.english import english


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("On 3/4/2024.", "On March fourth, twenty twenty four."),
        ("On 13/4/24.", "On April thirteenth, twenty twenty four."),
        ("On 99/99/2024.", "On ninety nine/ninety nine/two thousand twenty four."),
        ("In May 2024 we met.", "In May twenty twenty four we met."),
        ("the 5th of May", "the fifth of May"),
        ("the 5 May deadline", "the fifth of May deadline"),
    ],
)
def test_a_date_is_read(text: str, words: str) -> None:
    assert english(text) == words


def test_outside_north_america_the_day_comes_first() -> None:
    assert english("3/4/2024", day_first=True) == "April third, twenty twenty four"
    assert english("3/14/2024", day_first=True) == "March fourteenth, twenty twenty four"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("at 7:00", "at seven o'clock"),
        ("at 7:05", "at seven oh five"),
        ("at 7:35", "at seven thirty five"),
        ("took 1:02:33", "took one hour two minutes thirty three seconds"),
        ("at 14:00", "at fourteen hundred"),
        ("at 7:00 pm", "at seven P M"),
        ("at 7 p.m.", "at seven P M."),
        ("at 7 p.m. today", "at seven P M today"),
    ],
)
def test_a_time_is_read(text: str, words: str) -> None:
    assert english(text) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("-$5", "minus five dollars"),
        ("$1.01", "one dollar and one cent"),
        ("$5.00", "five dollars"),
        ("$0.00", "zero dollars"),
        ("$5.5", "five point five dollars"),
        ("$3.5M", "three point five million dollars"),
        ("$1-2 million", "one to two million dollars"),
        ("2 million EUR", "two million euros"),
        ("¥5.50", "five point five zero yen"),
    ],
)
def test_a_sum_of_money_is_read(text: str, words: str) -> None:
    assert english(text) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("5-10 km", "five to ten kilometers"),
        ("9/11", "nine eleven"),
        ("2 1/4", "two and one quarter"),
        ("1/7", "one seventh"),
        ("Room 5A, Baker St. 3", "Room five A, Baker Street three"),
        ("Charles III of 5", "Charles the third of five"),
        ("Act II", "Act two"),
        ("a@b.io", "a at b dot io"),
        ("#5 is v2", "number five is version two"),
        ("Mon. 3rd", "Monday third"),
        ("the 80s", "the eighties"),
        ("1.5M", "one point five million"),
        ("(1999)", "(nineteen ninety nine)"),
        ("1867.", "eighteen sixty seven."),
        ("2024-05-01", "May first, twenty twenty four"),
        ("on March 3", "on March third"),
        ("Jan. was cold", "January was cold"),
        ("± 3", " plus or minus three"),
        ("+1 555 123 4567", "plus one, five five five, one two three, four five six seven"),
        ("3 & 4", "three and four"),
        ("B2B", "B two B"),
        ("v2 or version v3", "version two or version three"),
        ("est. 1789", "established seventeen eighty nine"),
        ("the max. load", "the maximum load"),
        ("10 min. later", "ten minutes later"),
        ("5/day", "five per day"),
        ("01.05.2024", "May first, twenty twenty four"),
        ("3:1", "three to one"),
        ("9.5/10", "nine point five out of ten"),
        ("5'10\"", "five foot ten"),
        (".5", "point five"),
        ("10-20", "ten to twenty"),
        ("1999–2004", "nineteen ninety nine to two thousand four"),
        ("1.2.3", "one point two point three"),
        ("10.0.0.1", "one zero dot zero dot zero dot one"),
        ("5 - 2 = 3", "five minus two equals three"),
        ("Pens, etc.", "Pens, et cetera."),
        ("Pens etc.)", "Pens et cetera.)"),
        ("Foo Inc. is", "Foo Incorporated is"),
        ("555-1234", "five five five, one two three four"),
    ],
)
def test_numbers_and_abbreviations_are_read(text: str, words: str) -> None:
    assert english(text) == words


@pytest.mark.parametrize("text", ["", "Hello there.", "Well - no!"])
def test_text_that_needs_nothing_is_the_same_text(text: str) -> None:
    assert english(text) is text
