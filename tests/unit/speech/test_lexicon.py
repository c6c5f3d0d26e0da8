import pytest

from legato.speech.lexicon import MAX_ENTRIES, Lexicon


def test_the_longest_entry_that_fits_wins() -> None:
    lexicon = Lexicon({"New York": "the big apple", "new": "old"})
    assert lexicon.apply("New York is new.") == "the big apple is old."


def test_a_capital_counts_where_the_entry_has_one() -> None:
    lexicon = Lexicon({"WHO": "World Health Organization", "sql": "sequel"})
    assert lexicon.apply("Who? WHO. SQL, sql.") == "Who? World Health Organization. sequel, sequel."


def test_words_fit_as_a_whole_only() -> None:
    lexicon = Lexicon({"cat": "dog", "c++": "see plus plus"})
    assert lexicon.apply("cat concatenate C++11") == "dog concatenate see plus plus11"


def test_chinese_needs_no_border() -> None:
    assert (
        Lexicon({"重庆": "崇庆", "AI": "人工智能"}).apply("我在重庆学AI课")
        == "我在崇庆学人工智能课"
    )


def test_an_empty_lexicon_changes_nothing() -> None:
    assert Lexicon({}).apply("text") == "text"


@pytest.mark.parametrize(
    "entries",
    [
        {"": "x"},
        {" ": "x"},
        {"x": ""},
        {"x" * 65: "x"},
        {"x": "y" * 201},
        {"x": 5},
        {5: "x"},
        {str(n): "x" for n in range(MAX_ENTRIES + 1)},
    ],
)
def test_an_entry_that_cannot_be_used_is_refused(entries: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="lexicon"):
        Lexicon(entries)
