from legato.engines.agreement import LocalAgreement, agreed_words, spoken_form, words_of


def shown(*guesses: str) -> list[str]:
    agreement = LocalAgreement()
    return [agreement.accept(guess) for guess in guesses]


def test_the_first_guess_shows_nothing() -> None:
    assert shown("Hello") == [""]


def test_what_two_guesses_agree_on_is_shown() -> None:
    assert shown("Hello there.", "Hello there, my", "Hello there, my friend") == [
        "",
        "Hello there,",
        "Hello there, my",
    ]


def test_case_and_punctuation_do_not_count() -> None:
    assert shown("And, mr john.", "and Mr. John Dashwood") == ["", "and Mr. John"]


def test_words_after_a_disagreement_are_not_shown() -> None:
    assert shown("a b c d", "a x c d") == ["", "a"]


def test_what_was_shown_is_never_taken_back() -> None:
    assert shown("one two", "one two three", "won too three", "won too three four") == [
        "",
        "one two",
        "one two",
        "one two",
    ]


def test_a_guess_that_comes_back_to_what_was_shown_goes_on_from_there() -> None:
    assert shown("one", "one two", "won two", "one two three", "one two three")[-1] == (
        "one two three"
    )


def test_a_shorter_guess_takes_nothing_back() -> None:
    assert shown("one two three", "one two three", "one")[-1] == "one two three"


def test_an_empty_guess_shows_nothing() -> None:
    assert shown("", "", "a") == ["", "", ""]


def test_the_text_is_that_of_the_last_answer() -> None:
    agreement = LocalAgreement()
    agreement.accept("yes")
    assert agreement.text == ""
    assert agreement.accept("yes.") == agreement.text == "yes."


def test_agreed_words_end_with_the_shorter_text() -> None:
    assert agreed_words(["a", "b"], ["A,"]) == 1
    assert agreed_words([], ["a"]) == 0


def test_the_spoken_form_is_letters_and_digits_in_lower_case() -> None:
    assert spoken_form("“Straße,") == "strasse"
    assert spoken_form("Ｈｉ!") == "hi"
    assert spoken_form("—") == ""


def test_scripts_without_spaces_are_shown_character_by_character() -> None:
    assert shown(
        "今天天气", "今天天气很", "今天，天气很好 and warm", "今天，天气很好 and warm it"
    ) == [
        "",
        "今天天气",
        "今天，天气很",
        "今天，天气很好 and warm",
    ]


def test_words_keep_the_space_before_them() -> None:
    assert words_of("  a  b，中文。ok ") == ["a", " b，", "中", "文。", "ok"]
    assert words_of("") == []
