import unicodedata

import pytest

from legato.speech.scripts import (
    Script,
    is_speakable,
    kanji_in,
    runs,
    script_of,
    scripts_in,
    unspeakable,
)

LATIN, HAN, KANA, COMMON = Script.LATIN, Script.HAN, Script.KANA, Script.COMMON


@pytest.mark.parametrize(
    ("chars", "script"),
    [
        ("aZéßÆŁＡ", LATIN),
        ("你龍々〇㐀𠀀\U00030000\U0003fffd", HAN),
        ("あアーｱ", KANA),
        ("한ㄱﾡ", Script.HANGUL),
        ("дЖ", Script.CYRILLIC),
        ("αΩ", Script.GREEK),
        ("اب٣۵", Script.ARABIC),
        ("אש", Script.HEBREW),
        ("मि५", Script.DEVANAGARI),
        ("กำ", Script.THAI),
        ("ㄅ", Script.BOPOMOFO),
        ("Ꭰᚠ", Script.OTHER),
        ("0９ .,。！？$€+=@\n\t\u3000", COMMON),
        ("😀🎉👨\u200d\ufe0f♪→①½²Ⅳ", COMMON),
        ("\u0301ªºµ𝐀ʼ", COMMON),
    ],
)
def test_a_character_has_its_script(chars: str, script: Script) -> None:
    assert {char: script_of(char) for char in chars} == dict.fromkeys(chars, script)


def test_more_or_less_than_one_character_is_refused() -> None:
    with pytest.raises(TypeError):
        script_of("ab")


def test_every_letter_of_the_scripts_of_the_world_has_a_script() -> None:
    common = [
        char
        for char in map(chr, range(0x250, 0x10000))
        if unicodedata.category(char) in {"Lo", "Lu", "Ll"} and script_of(char) is COMMON
    ]
    assert len(common) < 100  # mathematical and letter-like symbols


def test_the_values_are_the_four_letter_codes_of_the_standard() -> None:
    assert all(len(script.value) == 4 and script.value.istitle() for script in Script)


def test_the_scripts_of_a_text_leave_out_what_all_share() -> None:
    assert scripts_in("Hello, 世界! 123 😀") == {LATIN, HAN}
    assert scripts_in("123 ...") == frozenset()


@pytest.mark.parametrize("text", ["a", "5", "你", "½", "...ok", "\U0003fffd"])
def test_a_text_with_a_letter_or_number_is_speakable(text: str) -> None:
    assert is_speakable(text)


@pytest.mark.parametrize("text", ["", " \n", "...", "😀👍", "—“”", "\u0301"])
def test_a_text_of_marks_space_and_emoji_is_not(text: str) -> None:
    assert not is_speakable(text)


def test_the_offending_characters_are_named_once_and_in_order() -> None:
    assert unspeakable("Say 你好, 你们! Да.", {LATIN}) == "你好们Да"
    assert unspeakable("Say 你好!", [LATIN, HAN]) == ""


def test_no_more_offending_characters_than_the_limit_are_named() -> None:
    text = "".join(chr(0x4E00 + i) for i in range(50))
    assert unspeakable(text, {LATIN}) == text[:20]
    assert unspeakable(text, {LATIN}, limit=3) == text[:3]


def test_an_engine_without_scripts_speaks_any() -> None:
    assert unspeakable("Say 你好!", ()) == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("... 5 😀", [(COMMON, "... 5 😀")]),
        ("Hello, world!", [(LATIN, "Hello, world!")]),
        ("“你好”, he said.", [(HAN, "“你好”, "), (LATIN, "he said.")]),
        ("我用 Python 3.11。很好。", [(HAN, "我用 "), (LATIN, "Python 3.11。"), (HAN, "很好。")]),
        ("用5G网络", [(HAN, "用"), (LATIN, "5G"), (HAN, "网络")]),
        ("用2.4GHz", [(HAN, "用"), (LATIN, "2.4GHz")]),
        ("iPhone15很好", [(LATIN, "iPhone15"), (HAN, "很好")]),
        ("你好.NET", [(HAN, "你好."), (LATIN, "NET")]),
        ("她说(OK)了", [(HAN, "她说"), (LATIN, "(OK)"), (HAN, "了")]),
        ("花了$5 and", [(HAN, "花了$5 "), (LATIN, "and")]),
        ("花了$A", [(HAN, "花了"), (LATIN, "$A")]),
        ("Привет, world", [(Script.CYRILLIC, "Привет, "), (LATIN, "world")]),
        ("私は日本人です。OK", [(KANA, "私は日本人です。"), (LATIN, "OK")]),
        ("日本、はい", [(KANA, "日本、はい")]),
    ],
)
def test_mixed_text_is_split_into_runs_of_one_script(
    text: str, expected: list[tuple[Script, str]]
) -> None:
    assert runs(text) == expected
    assert "".join(piece for _, piece in runs(text)) == text


@pytest.mark.parametrize(
    ("text", "kanji"),
    [("日本語です。日本です", "日本語"), ("你好", ""), ("ひらがな", ""), ("", "")],
)
def test_kanji_are_found_in_japanese_text_alone(text: str, kanji: str) -> None:
    assert kanji_in(text) == kanji
