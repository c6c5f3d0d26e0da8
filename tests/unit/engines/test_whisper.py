from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from legato.audio import AudioChunk, AudioFormat
from legato.engines.base import Ability, Checkpoint, Recognizer
from legato.engines.whisper import Whisper
from legato.errors import EngineUnavailable, UnsupportedOption
from legato.speech import RecognitionRequest, Transcript
from legato.testing.engines import RecognizerContract
from tests.unit.engines.recordings import FORMAT, beckett_pcm, chunks
from tests.unit.engines.whisper_stage import loaded, made

REQUEST = RecognitionRequest(format=FORMAT)


class TestOnStandIn(RecognizerContract):
    @pytest.fixture(scope="class")
    @classmethod
    def engine(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recognizer]:
        folder = tmp_path_factory.mktemp("whisper")
        with loaded(folder) as engine:
            yield engine

    @classmethod
    def speech(cls, pcm: AudioFormat) -> bytes:
        assert pcm == FORMAT
        return beckett_pcm()


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Whisper]:
    with loaded(tmp_path) as engine:
        yield engine


def hear(engine: Whisper, request: RecognitionRequest = REQUEST) -> list[Transcript]:
    results = engine.recognize(request, chunks(beckett_pcm()))
    return [result for result in results if not isinstance(result, Checkpoint)]


def finals(engine: Whisper, request: RecognitionRequest = REQUEST) -> list[Transcript]:
    return [heard for heard in hear(engine, request) if heard.final]


def test_finals_have_words_with_times_confidence_and_language(engine: Whisper) -> None:
    for heard in finals(engine):
        assert " ".join(word.text for word in heard.words) == heard.text
        assert [word.confidence for word in heard.words] == [0.9] * len(heard.words)
        assert heard.confidence == pytest.approx(0.9048, abs=1e-4)
        assert heard.language == "en"


def test_partials_come_before_their_final_and_begin_it(engine: Whisper) -> None:
    heard = hear(engine)
    partials = [text for text in heard if not text.final and text.text]
    assert partials
    assert all(text.language == "en" for text in partials)
    final = next(text for text in heard if text.final)
    first = next(text for text in heard if text.text)
    assert not first.final
    assert final.text.startswith(first.text.split()[0])


def test_nothing_is_made_up_behind_the_last_word(engine: Whisper) -> None:
    assert not any("Thanks" in heard.text for heard in hear(engine))


def test_a_language_that_is_named_is_not_looked_for(engine: Whisper) -> None:
    heard = finals(engine, replace(REQUEST, language="cmn-Hans"))
    assert {text.language for text in heard} == {"zh"}
    later = made().asked[1:]  # the first warms up
    assert {asked["language"] for asked in later} == {"zh"}


def test_guesses_at_a_segment_look_for_its_language_once_and_its_final_anew(
    engine: Whisper,
) -> None:
    hear(engine)
    asked = made().asked[1:]
    guesses = [call["language"] for call in asked if call["beam_size"] == 1]
    decisions = [call["language"] for call in asked if call["beam_size"] == 5]
    assert guesses.count(None) < len(guesses)
    assert set(decisions) == {None}


def test_javanese_has_its_own_tag(engine: Whisper) -> None:
    assert "jv" in engine.info.languages
    heard = finals(engine, replace(REQUEST, language="jv"))
    assert {text.language for text in heard} == {"jv"}


def test_a_language_that_the_model_does_not_know_is_refused_before_any_audio(
    engine: Whisper,
) -> None:
    with pytest.raises(UnsupportedOption, match="'ko'; it knows en, jv, zh"):
        next(engine.recognize(replace(REQUEST, language="ko"), Unheard()))


class Unheard:
    """Audio that nobody may ask for."""

    def __iter__(self) -> Iterator[AudioChunk]:
        pytest.fail("audio was heard")


def test_hotwords_reach_the_model(engine: Whisper) -> None:
    heard = finals(engine, replace(REQUEST, hotwords=("Legato", "hibari")))
    assert all(text.text.startswith("Legato ") for text in heard)


def test_more_hotwords_than_whisper_takes_are_refused_and_not_cut_off(engine: Whisper) -> None:
    many = replace(REQUEST, hotwords=tuple(f"word{at}" for at in range(223)))
    with pytest.raises(UnsupportedOption, match="223 of Whisper's tokens, more than the 222"):
        next(engine.recognize(many, Unheard()))
    most = replace(REQUEST, hotwords=many.hotwords[:-1])
    assert finals(engine, most)


def test_numbers_are_written_as_words_where_figures_are_not_wanted(engine: Whisper) -> None:
    texts = " ".join(heard.text for heard in finals(engine))
    assert "42" in texts
    plain = " ".join(
        heard.text for heard in finals(engine, replace(REQUEST, inverse_normalization=False))
    )
    assert plain == texts.replace("42", "forty-two")


def test_figures_for_sure_are_refused(engine: Whisper) -> None:
    with pytest.raises(UnsupportedOption, match="inverse_normalization"):
        next(engine.recognize(replace(REQUEST, inverse_normalization=True), Unheard()))


def test_an_option_that_it_does_not_have_is_refused(engine: Whisper) -> None:
    with pytest.raises(UnsupportedOption, match="no option 'initial_prompt'; there are: punct"):
        next(engine.recognize(replace(REQUEST, options={"initial_prompt": "x"}), Unheard()))


def test_only_a_model_of_several_languages_detects_them(tmp_path: Path) -> None:
    with loaded(tmp_path) as engine:
        assert Ability.LANGUAGE_DETECTION in engine.info.abilities
    with loaded(tmp_path, multilingual=False) as engine:
        assert Ability.LANGUAGE_DETECTION not in engine.info.abilities
        assert engine.info.languages == ("en",)


def test_an_engine_that_is_not_loaded_says_so() -> None:
    with pytest.raises(EngineUnavailable, match="not loaded"):
        next(Whisper().recognize(REQUEST, Unheard()))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"modle": "x"}, r"unknown field `modle`; see docs/whisper\.md"),
        ({"threads": -1}, "threads"),
    ],
)
def test_a_wrong_setting_is_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(EngineUnavailable, match=message):
        Whisper(**options)
