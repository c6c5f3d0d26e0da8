from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from legato.audio import AudioChunk, AudioFormat
from legato.engines.base import Ability, Checkpoint, Recognizer
from legato.engines.funasr import FunASR, StreamingParaformer, padded, punctuated, timed
from legato.engines.funasr_model import Config, Model
from legato.errors import EngineUnavailable, UnsupportedOption
from legato.speech import Endpointing, RecognitionRequest, Transcript
from legato.testing.engines import RecognizerContract
from tests.unit.engines.funasr_stage import loaded, made, model, package
from tests.unit.engines.recordings import FORMAT, beckett, beckett_pcm, chunks

REQUEST = RecognitionRequest(format=FORMAT)


class OnStandIn(RecognizerContract):
    kind = ""

    @pytest.fixture(scope="class")
    @classmethod
    def engine(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recognizer]:
        with loaded(tmp_path_factory.mktemp("funasr"), cls.kind) as engine:
            yield engine

    @classmethod
    def speech(cls, pcm: AudioFormat) -> bytes:
        assert pcm == FORMAT
        return beckett_pcm()


class TestStreaming(OnStandIn):
    kind = "ParaformerStreaming"


class TestSenseVoice(OnStandIn):
    kind = "SenseVoiceSmall"


def hear(engine: FunASR, request: RecognitionRequest = REQUEST) -> list[Transcript]:
    results = engine.recognize(request, chunks(beckett_pcm()))
    return [result for result in results if not isinstance(result, Checkpoint)]


def finals(engine: FunASR, request: RecognitionRequest = REQUEST) -> list[str]:
    return [heard.text for heard in hear(engine, request) if heard.final]


class Unheard:
    """Audio that nobody may ask for."""

    def __iter__(self) -> Iterator[AudioChunk]:
        pytest.fail("audio was heard")


@pytest.fixture
def streaming(tmp_path: Path) -> Iterator[FunASR]:
    with loaded(tmp_path, "ParaformerStreaming") as engine:
        yield engine


@pytest.fixture
def sense_voice(tmp_path: Path) -> Iterator[FunASR]:
    with loaded(tmp_path, "SenseVoiceSmall") as engine:
        yield engine


def test_what_a_streaming_model_gives_is_shown_at_once_and_stays(streaming: FunASR) -> None:
    shown, seen = "", 0
    for heard in hear(streaming, replace(REQUEST, endpointing=Endpointing(silence=2.0))):
        assert heard.text.startswith(shown)
        seen += not heard.final and bool(heard.text)
        shown = "" if heard.final else heard.text
    assert seen > 3


def test_an_abandoned_stream_is_not_heard_in_the_next(streaming: FunASR) -> None:
    alone = finals(streaming)
    broken = streaming.recognize(REQUEST, chunks(beckett_pcm()))
    next(result for result in broken if isinstance(result, Transcript) and result.text)
    broken.close()  # type: ignore[attr-defined]  # a generator
    assert finals(streaming) == alone


def test_streams_that_take_turns_do_not_mix(streaming: FunASR) -> None:
    alone = finals(streaming)
    both = [streaming.recognize(REQUEST, chunks(beckett_pcm())) for _ in range(2)]
    heard: list[list[str]] = [[], []]
    for results in zip(*both, strict=True):
        for texts, result in zip(heard, results, strict=True):
            if isinstance(result, Transcript) and result.final:
                texts.append(result.text)
    assert heard == [alone, alone]


def test_a_segment_that_is_cut_before_what_was_heard_of_it_is_heard_again(
    tmp_path: Path,
) -> None:
    """Who does not pause is cut at the quietest point of the last seconds."""
    config = Config()
    with package():
        network = Model(model(tmp_path, "ParaformerStreaming"), config)
    live, alone = (StreamingParaformer(network, None, config) for _ in range(2))
    audio = beckett()[:64_000]
    live.transcribe(audio, ())
    assert live.transcribe(audio[:40_000]) == alone.transcribe(audio[:40_000])
    assert alone.transcribe(audio[:40_000]).text


def test_tags_are_not_text_and_tell_the_language(sense_voice: FunASR) -> None:
    heard = hear(sense_voice)
    assert not any("<" in text.text or "|" in text.text for text in heard)
    assert {text.language for text in heard if text.text} == {"zh"}
    assert all(text.confidence is None for text in heard)


def test_a_language_that_is_named_is_asked_for(sense_voice: FunASR) -> None:
    assert {text.language for text in hear(sense_voice, replace(REQUEST, language="ja-JP"))} <= {
        "ja",
        None,
    }
    assert made().asked[-1]["language"] == "ja"
    hear(sense_voice)
    assert made().asked[-1]["language"] == "auto"


def test_figures_and_punctuation_come_together(sense_voice: FunASR) -> None:
    usual = "".join(finals(sense_voice))
    assert "。" in usual
    assert "1" in usual
    plain = "".join(finals(sense_voice, replace(REQUEST, inverse_normalization=False)))
    assert plain == usual.replace("1", "日").replace("。", "")
    assert finals(sense_voice, replace(REQUEST, punctuation=False)) == finals(
        sense_voice, replace(REQUEST, inverse_normalization=False)
    )
    both = replace(REQUEST, punctuation=False, inverse_normalization=True)
    assert "1" in "".join(finals(sense_voice, both))  # the worker takes the punctuation out


def test_punctuation_without_figures_is_refused(sense_voice: FunASR) -> None:
    request = replace(REQUEST, punctuation=True, inverse_normalization=False)
    with pytest.raises(UnsupportedOption, match="together or neither"):
        next(sense_voice.recognize(request, Unheard()))


def test_hotwords_are_those_of_their_stream_alone(tmp_path: Path) -> None:
    with loaded(tmp_path, "SeacoParaformer") as engine:
        assert engine.info.abilities == {Ability.HOTWORDS}
        favoured = finals(engine, replace(REQUEST, hotwords=("魔搭", "达摩院")))
        assert all(text.startswith("魔搭") for text in favoured)
        assert not any("魔搭" in text for text in finals(engine))


@pytest.mark.parametrize("word", ["http://host/list", "words.txt", "two words", " "])
def test_a_hotword_that_would_be_read_otherwise_is_refused(tmp_path: Path, word: str) -> None:
    with loaded(tmp_path, "SeacoParaformer") as engine, pytest.raises(UnsupportedOption):
        next(engine.recognize(replace(REQUEST, hotwords=(word,)), Unheard()))


def test_words_have_the_times_that_the_model_gives(tmp_path: Path) -> None:
    with loaded(tmp_path, "Paraformer") as engine:
        heard = next(text for text in hear(engine) if text.final)
    assert "".join(word.text for word in heard.words) == heard.text
    assert heard.words[0].end - heard.words[0].start == pytest.approx(0.3, abs=0.3)


@pytest.mark.parametrize("kind", ["ParaformerStreaming", "Paraformer"])
def test_a_punctuation_model_writes_into_finals_unless_it_is_not_wanted(
    tmp_path: Path, kind: str
) -> None:
    with loaded(tmp_path, kind, punc_model_dir=model(tmp_path, "CTTransformer")) as engine:
        assert Ability.PUNCTUATION in engine.info.abilities
        texts = finals(engine)
        assert all(text.endswith("。") for text in texts)
        plain = finals(engine, replace(REQUEST, punctuation=False))
        assert plain == [text.rstrip("。") for text in texts]


@pytest.mark.parametrize(
    ("kind", "more", "what"),
    [
        ("ParaformerStreaming", {"hotwords": ("a",)}, "hotwords need"),
        ("ParaformerStreaming", {"inverse_normalization": True}, "needs SenseVoice"),
        ("ParaformerStreaming", {"language": "fr"}, "'fr'; it knows zh, en"),
        ("SenseVoiceSmall", {"language": "fr"}, "'fr'; it knows en, ja, ko, yue, zh"),
        ("SenseVoiceSmall", {"options": {"x": 1}}, "no option 'x'"),
    ],
)
def test_what_a_model_does_not_do_is_refused_before_any_audio(
    tmp_path: Path, kind: str, more: dict[str, object], what: str
) -> None:
    request = RecognitionRequest(format=FORMAT, **more)  # type: ignore[arg-type]  # fields by name
    with loaded(tmp_path, kind) as engine, pytest.raises(UnsupportedOption, match=what):
        next(engine.recognize(request, Unheard()))


def test_mandarin_is_chinese(streaming: FunASR) -> None:
    assert finals(streaming, replace(REQUEST, language="cmn-Hans-CN")) == finals(streaming)


def test_an_engine_that_is_not_loaded_says_so() -> None:
    with pytest.raises(EngineUnavailable, match="not loaded"):
        next(FunASR().recognize(REQUEST, Unheard()))


def test_a_wrong_setting_is_named() -> None:
    with pytest.raises(EngineUnavailable, match=r"`vad_model`; see docs/funasr\.md"):
        FunASR(vad_model="fsmn-vad")


def test_short_audio_is_padded_and_long_left_alone() -> None:
    assert list(padded(np.ones(2, np.float32), 4)) == [1, 1, 0, 0]
    assert list(padded(np.ones(3, np.float32), 2)) == [1, 1, 1]


def test_no_word_is_given_a_time_where_they_do_not_fit() -> None:
    assert timed("你好", [[0, 100]]) == ()
    assert timed("你好", None) == ()
    assert [word.text for word in timed("你好，ok", [[0, 1], [1, 2], [2, 3]])] == [
        "你",
        "好，",
        "ok",
    ]


def test_nothing_is_punctuated_as_nothing() -> None:
    assert punctuated("", None) == ""
    assert punctuated("你好", None) == "你好"
