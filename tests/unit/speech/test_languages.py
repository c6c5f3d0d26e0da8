import pytest

from legato.speech.languages import primary, sole_language, speaks, written_in
from legato.speech.scripts import Script


@pytest.mark.parametrize(
    ("tag", "language"),
    [("de", "de"), ("EN-us", "en"), ("cmn-Hans-CN", "zh"), ("zh-TW", "zh"), ("yue", "yue")],
)
def test_region_and_script_do_not_make_a_language(tag: str, language: str) -> None:
    assert primary(tag) == language


def test_an_engine_for_mandarin_speaks_chinese() -> None:
    assert speaks(["en-US", "cmn"], "zh-CN")
    assert speaks(["nb-NO"], "no")


def test_cantonese_is_no_mandarin() -> None:
    assert not speaks(["yue-HK"], "zh")
    assert not speaks([], "zh")


@pytest.mark.parametrize(
    ("tag", "scripts"),
    [
        ("de-AT", {Script.LATIN}),
        ("tlh", {Script.LATIN}),
        ("zh-Hans", {Script.HAN}),
        ("ja", {Script.KANA, Script.HAN}),
        ("uk", {Script.CYRILLIC}),
        ("sr", {Script.CYRILLIC, Script.LATIN}),
        ("sr-Latn-RS", {Script.LATIN}),
        ("zh-Latn", {Script.LATIN}),
        ("hi-IN", {Script.DEVANAGARI}),
    ],
)
def test_the_scripts_of_a_language(tag: str, scripts: set[Script]) -> None:
    assert written_in(tag) == scripts


def test_a_script_of_many_languages_tells_none() -> None:
    assert sole_language(Script.LATIN) == ""
    assert sole_language(Script.HAN) == "zh"
    assert sole_language(Script.KANA) == "ja"
