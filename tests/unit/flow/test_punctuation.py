import pytest

from legato.flow.punctuation import Kind, kind_of, size_of


@pytest.mark.parametrize(
    ("chars", "kind"),
    [
        (" \t\u3000\xa0\r", Kind.SPACE),
        ("\n\u2029\x85", Kind.NEWLINE),
        ("AÉДΩǅＡ", Kind.UPPER),
        ("aéдω", Kind.LOWER),
        ("ا한אम", Kind.LETTER),
        ("你あア々", Kind.IDEOGRAPH),
        ("0９٣½", Kind.DIGIT),
        ("。！？।؟", Kind.STOP),
        (".．", Kind.DOT),
        ("?", Kind.QUESTION),
        ("!", Kind.EXCLAMATION),
        ("…", Kind.ELLIPSIS),
        (",;:،", Kind.PAUSE),
        ("，；：", Kind.WIDE_PAUSE),
        ("—", Kind.DASH),
        ("、", Kind.ENUMERATION),
        ("([「“《", Kind.OPEN),
        (")]）》", Kind.CLOSE_BRACKET),
        ("”」»", Kind.CLOSE_QUOTE),
        ('"', Kind.QUOTE),
        ("'’", Kind.APOSTROPHE),
        ("*_", Kind.EMPHASIS),
        ("\u0301\u200d😀ा", Kind.TAIL),
        ("$-/#%•+\ue000", Kind.SYMBOL),
    ],
)
def test_a_character_has_its_kind(chars: str, kind: Kind) -> None:
    assert {kind_of(char) for char in chars} == {kind}


@pytest.mark.parametrize(("chars", "size"), [("aZ5 ，。ا", 1), ("你あア한", 3)])
def test_a_character_that_is_a_syllable_counts_for_three(chars: str, size: int) -> None:
    assert {size_of(char) for char in chars} == {size}
