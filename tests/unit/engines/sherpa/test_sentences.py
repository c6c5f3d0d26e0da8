from legato.engines.sherpa.sentences import LONGEST, sentences


def test_sentences_are_parts() -> None:
    text = "One. Two! 三。四？ Five…\nSix 3.5 and"
    assert list(sentences(text)) == ["One.", "Two!", "三。", "四？", "Five…", "Six 3.5 and"]


def test_long_sentences_are_cut_after_a_clause() -> None:
    first, second = sentences("a" * 60 + ", " + "b" * 80)
    assert first == "a" * 60 + ","
    assert second == "b" * 80


def test_what_has_no_place_to_cut_is_cut_all_the_same() -> None:
    parts = list(sentences("a" * 1000))
    assert "".join(parts) == "a" * 1000
    assert max(map(len, parts)) <= LONGEST


def test_syllables_count_for_more() -> None:
    parts = list(sentences("你好，今天天气很好。" * 3 + "你" * 100))
    assert max(map(len, parts)) <= 40
    assert "".join(parts) == "你好，今天天气很好。" * 3 + "你" * 100
