import pytest

from legato.engines.base import Ability
from legato.errors import UnsupportedOption
from legato.speech.wishes import (
    DETECTION,
    SWITCHES,
    Wishes,
    check,
    refuse,
    refuse_words_for_numbers,
    wishes,
)

ALL = frozenset(ability.value for ability in Ability)


def test_what_is_asked_for_is_read() -> None:
    options = {"punctuation": False, "inverse_normalization": True, "speakers": True, "beams": 3}
    assert wishes("auto", ["Legato"], options) == Wishes(
        detects=True,
        hotwords=("Legato",),
        punctuation=False,
        inverse_normalization=True,
        speakers=True,
        options={"beams": 3},
    )


def test_what_is_left_out_is_left_to_the_engine() -> None:
    assert wishes(None, [], {}) == Wishes()
    assert wishes("en-GB", [], {"punctuation": None}) == Wishes(language="en-GB")


@pytest.mark.parametrize("name", SWITCHES)
@pytest.mark.parametrize("value", ["yes", 1, 0, [], {}])
def test_a_switch_is_true_or_false(name: str, value: object) -> None:
    with pytest.raises(UnsupportedOption, match=f"options.{name} is true or false, or left out"):
        wishes(None, [], {name: value})


def test_a_value_is_not_quoted_at_length() -> None:
    with pytest.raises(UnsupportedOption) as refusal:
        wishes(None, [], {"speakers": "x" * 1000})
    assert len(refusal.value.message) < 120


@pytest.mark.parametrize("word", ["", " "])
def test_an_empty_hotword_is_refused(word: str) -> None:
    with pytest.raises(UnsupportedOption, match="hotword is empty"):
        wishes(None, ["a", word], {})


def test_the_abilities_are_those_of_engines() -> None:
    everything = dict.fromkeys(SWITCHES, True)
    assert set(wishes("auto", ["a"], everything).needs()) <= ALL
    assert DETECTION in ALL


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        (wishes(None, ["a"], {}), "hotwords"),
        (wishes("auto", [], {}), r'language detection \(language "auto"\)'),
        (wishes(None, [], {"punctuation": True}), "options.punctuation"),
        (wishes(None, [], {"inverse_normalization": True}), "options.inverse_normalization"),
        (wishes(None, [], {"speakers": True}), "options.speakers"),
    ],
)
def test_what_an_engine_cannot_do_is_refused_by_name(asked: Wishes, named: str) -> None:
    check(asked, engine="able", abilities=ALL, able={})
    with pytest.raises(UnsupportedOption, match=f"'plain' does not have {named};"):
        check(asked, engine="plain", abilities=(), able={})


def test_not_to_do_what_it_never_does_can_be_asked_of_any_engine() -> None:
    nothing = wishes("en", [], dict.fromkeys(SWITCHES, False))
    check(nothing, engine="plain", abilities=(), able={})


def test_engines_that_can_are_named() -> None:
    asked = wishes(None, ["a"], {"speakers": True})
    able = {"both": ("hotwords", "speakers"), "all": tuple(ALL), "one": ("hotwords",)}
    with pytest.raises(UnsupportedOption, match=r"hotwords and options.speakers; .*: all, both\)"):
        check(asked, engine="plain", abilities=(), able=able)
    with pytest.raises(UnsupportedOption, match=r"have options.speakers; .*no engine here has\)"):
        check(asked, engine="one", abilities=("hotwords",), able={})


def test_options_that_an_engine_does_not_know_are_refused() -> None:
    refuse({}, engine="plain")
    refuse({"beams": 1}, engine="plain", known=["beams"])
    with pytest.raises(
        UnsupportedOption, match=r"no option .beam.; there are: punctuation, .*beams"
    ):
        refuse({"beam": 1}, engine="plain", known=["beams"])


@pytest.mark.parametrize("wanted", [None, True])
def test_figures_are_not_refused_by_an_engine_that_writes_them(wanted: bool | None) -> None:
    refuse_words_for_numbers(wanted, engine="plain")


def test_an_engine_that_writes_figures_by_itself_refuses_words() -> None:
    with pytest.raises(UnsupportedOption, match=r"^plain writes numbers as it was trained to"):
        refuse_words_for_numbers(False, engine="plain")
