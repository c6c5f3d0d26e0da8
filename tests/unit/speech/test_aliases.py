import pytest

from legato.speech.aliases import ALIASES, Alias, alias_of


@pytest.mark.parametrize(
    ("name", "alias"),
    [
        ("alloy", Alias("openai", "en", None)),
        ("Onyx", Alias("openai", "en", "male")),
        ("longxiaochun", Alias("dashscope", "zh", "female")),
        ("longxiaochun_v2", Alias("dashscope", "zh", "female")),
        ("longwan_v3.5", Alias("dashscope", "zh", "female")),
        ("longanyue_v3", Alias("dashscope", "yue", "male")),
        ("loongstella", Alias("dashscope", "en-US", "female")),
    ],
)
def test_a_name_from_elsewhere_tells_what_is_expected(name: str, alias: Alias) -> None:
    assert alias_of(name) == alias


@pytest.mark.parametrize("name", ["heart", "", "longwan_v", "_v2", "alloy_v2"])
def test_other_names_tell_nothing(name: str) -> None:
    assert alias_of(name) is None


def test_the_voices_that_openai_names_are_all_there() -> None:
    named = {name for name, alias in ALIASES.items() if alias.vendor == "openai"}
    assert named == {
        *("alloy", "ash", "ballad", "cedar", "coral", "echo", "fable", "marin", "nova"),
        *("onyx", "sage", "shimmer", "verse"),
    }


def test_no_name_stands_twice() -> None:
    from legato.speech import aliases

    groups = (*aliases._OPENAI, *aliases._DASHSCOPE)  # noqa: SLF001  (the table itself)
    names = [name for _, _, group in groups for name in group.split()]
    assert len(names) == len(set(names)) == len(ALIASES)
