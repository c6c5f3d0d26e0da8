"""The real sherpa-onnx on synthetic models."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from legato.engines.base import Ability, Checkpoint, EngineKind
from legato.engines.moonshine import FORMAT
from legato.engines.registry import listings
from legato.engines.sherpa.recognizer import SherpaRecognizer
from legato.errors import EngineUnavailable, UnsupportedOption
from legato.speech import Endpointing, RecognitionRequest, Transcript
from tests.unit.engines.recordings import beckett_pcm, chunks
from tests.unit.engines.sherpa import graphs

Made = Callable[..., SherpaRecognizer]


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """Loads an engine on a model that a function makes."""

    def load(model: Callable[[Path], Path], **options: Any) -> SherpaRecognizer:
        engine = SherpaRecognizer(model_dir=str(model(tmp_path)), **options)
        engine.load()
        return engine

    return load


def hear(
    engine: SherpaRecognizer,
    *,
    language: str | None = None,
    hotwords: Sequence[str] = (),
    punctuation: bool | None = None,
    figures: bool | None = None,
    options: dict[str, object] | None = None,
    silence: float | None = 0.5,
) -> list[Transcript]:
    request = RecognitionRequest(
        format=FORMAT,
        language=language,
        endpointing=Endpointing(silence=silence),
        hotwords=tuple(hotwords),
        punctuation=punctuation,
        inverse_normalization=figures,
        options=options or {},
    )
    found: list[Transcript | Checkpoint] = list(engine.recognize(request, chunks(beckett_pcm())))
    return [one for one in found if isinstance(one, Transcript)]


def written(transcripts: Sequence[Transcript]) -> str:
    return " / ".join(one.text for one in transcripts if one.final)


def test_a_streaming_model_writes_while_somebody_speaks(made: Made) -> None:
    heard = hear(made(graphs.streaming_ctc))
    partials = [one for one in heard if not one.final]
    finals = [one for one in heard if one.final]
    assert len(finals) == 6
    assert len(partials) > 2 * len(finals)
    assert all(one.words for one in finals)


def test_silence_alone_ends_utterances_if_it_is_asked_to(made: Made) -> None:
    engine = made(graphs.streaming_ctc)
    assert len([one for one in hear(engine, silence=None) if one.final]) == 1
    assert engine.info.abilities == frozenset()


def test_hotwords_are_favoured_in_their_stream_alone(made: Made) -> None:
    engine = made(graphs.streaming_transducer, hotwords_score=3.0)
    assert Ability.HOTWORDS in engine.info.abilities
    before = written(hear(engine))
    favoured = written(hear(engine, hotwords=["四五"]))
    assert favoured.count("四五") > before.count("四五")
    assert written(hear(engine)) == before


def test_a_transducer_says_how_sure_it_is(made: Made) -> None:
    finals = [one for one in hear(made(graphs.streaming_transducer)) if one.final]
    assert all(one.confidence is not None and 0 < one.confidence < 1 for one in finals)


def test_greedy_search_knows_no_hotwords(made: Made) -> None:
    engine = made(graphs.streaming_transducer, decoding_method="greedy_search")
    assert Ability.HOTWORDS not in engine.info.abilities
    with pytest.raises(UnsupportedOption, match="no hotwords"):
        hear(engine, hotwords=["四"])


def test_sense_voice_finds_the_language_or_is_told_it(made: Made) -> None:
    engine = made(graphs.sense_voice)
    assert Ability.LANGUAGE_DETECTION in engine.info.abilities
    assert {one.language for one in hear(engine)} == {"zh"}
    assert {one.language for one in hear(engine, language="en-GB")} == {"en"}
    with pytest.raises(UnsupportedOption, match="not fr"):
        hear(engine, language="fr")


@pytest.mark.parametrize(
    ("figures", "punctuation", "written_out"),
    [
        (None, None, True),
        (True, None, True),
        (False, None, False),
        (None, True, True),
        (None, False, False),
        (True, False, True),  # the worker leaves the marks out
    ],
)
def test_sense_voice_writes_figures_and_marks_as_asked(
    made: Made, figures: bool | None, punctuation: bool | None, written_out: bool
) -> None:
    engine = made(graphs.sense_voice)
    text = written(hear(engine, figures=figures, punctuation=punctuation))
    assert ("3，" in text, "三" in text) == (written_out, not written_out)


def test_sense_voice_cannot_write_marks_without_figures(made: Made) -> None:
    engine = made(graphs.sense_voice, inverse_normalization=False)
    assert "三" in written(hear(engine))
    with pytest.raises(UnsupportedOption, match="both or for neither"):
        hear(engine, punctuation=True, figures=False)


def test_an_unknown_option_of_a_stream_is_named(made: Made) -> None:
    with pytest.raises(UnsupportedOption, match="beam"):
        hear(made(graphs.streaming_ctc), options={"beam": 3})


def test_without_a_model_it_says_what_it_wants(tmp_path: Path) -> None:
    engine = SherpaRecognizer()
    with pytest.raises(EngineUnavailable, match="model_dir is not set"):
        engine.check()
    with pytest.raises(EngineUnavailable, match="not loaded"):
        hear(engine)
    engine = SherpaRecognizer(model_dir=str(tmp_path))
    with pytest.raises(EngineUnavailable, match="holds no model"):
        engine.load()


def test_a_table_of_tokens_that_is_none_is_found_before_loading(tmp_path: Path) -> None:
    folder = graphs.streaming_ctc(tmp_path)
    (folder / "tokens.txt").write_text("404: not found")
    with pytest.raises(EngineUnavailable, match="no table of tokens"):
        SherpaRecognizer(model_dir=str(folder)).check()


def test_a_ctc_model_without_a_blank_is_found_before_loading(tmp_path: Path) -> None:
    folder = graphs.streaming_ctc(tmp_path)
    graphs.tokens_file(folder / "tokens.txt", ("a", "b", "c", "d", "e", "f"))
    with pytest.raises(EngineUnavailable, match="blank"):
        SherpaRecognizer(model_dir=str(folder)).check()


def test_the_registry_has_both_engines() -> None:
    for kind in EngineKind:
        found = {one.name: one for one in listings(kind)}["sherpa-onnx"]
        assert "model_dir is not set" in (found.missing or "")
