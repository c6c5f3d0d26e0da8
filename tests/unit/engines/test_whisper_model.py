from pathlib import Path

import numpy as np
import pytest

from legato.engines import whisper_model
from legato.engines.whisper_model import Config, Manner, WhisperModel, repeats, whisper_language
from legato.errors import EngineUnavailable
from tests.unit.engines.recordings import beckett
from tests.unit.engines.whisper_stage import made, model, package

ENGLISH = Manner(language="en")


def network(folder: Path, **config: object) -> WhisperModel:
    """A model on the stand-in."""
    with package():
        return WhisperModel(Config(model=model(folder, **config)))


def test_a_model_that_is_not_named_is_asked_for() -> None:
    with (
        package(),
        pytest.raises(EngineUnavailable, match="legato models pull huggingface:Systran"),
    ):
        whisper_model.check(Config())


def test_a_missing_package_is_named_with_the_line_that_adds_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(EngineUnavailable, match=r"faster_whisper is not installed; .*whisper"):
        whisper_model.check(Config(model="small"))


@pytest.mark.parametrize("name", ["./nowhere", "/no/where", "~/none", "one/two/three"])
def test_a_folder_that_is_not_there_is_named(name: str) -> None:
    with package(), pytest.raises(EngineUnavailable, match="there is no folder"):
        whisper_model.check(Config(model=name))


def test_a_model_without_its_tokenizer_is_refused_and_not_completed_from_a_hub(
    tmp_path: Path,
) -> None:
    folder = model(tmp_path)
    Path(folder, "tokenizer.json").unlink()
    Path(folder, "vocabulary.txt").unlink()
    with package(), pytest.raises(EngineUnavailable, match=r"lacks tokenizer\.json, vocabulary"):
        whisper_model.check(Config(model=folder))


def test_a_name_is_looked_for_in_the_cache_alone() -> None:
    with package():
        whisper_model.check(Config(model="small"))
        with pytest.raises(EngineUnavailable, match="not in the cache, see download"):
            WhisperModel(Config(model="small"))


def test_a_name_is_downloaded_if_the_settings_say_so() -> None:
    with package() as found:
        WhisperModel(Config(model="small", download=True))
        assert found.downloads == ["small"]


def test_a_device_that_cannot_compute_so_is_told(tmp_path: Path) -> None:
    with package(), pytest.raises(EngineUnavailable, match="Requested float16") as refusal:
        WhisperModel(Config(model=model(tmp_path), compute_type="float16"))
    assert "cache" not in refusal.value.message


def test_threads_are_those_that_are_asked_for(tmp_path: Path) -> None:
    with package():
        WhisperModel(Config(model=model(tmp_path), threads=3))
        assert made().cpu_threads == 3
        WhisperModel(Config(model=model(tmp_path)))
        assert 1 <= made().cpu_threads <= 4


def test_a_loop_of_the_network_is_decoded_again(tmp_path: Path) -> None:
    written = network(tmp_path, loops="once").write(beckett()[:48_000], ENGLISH)
    assert written.text
    assert "and then and then" not in written.text


def test_a_loop_that_does_not_end_is_not_written(tmp_path: Path) -> None:
    assert network(tmp_path, loops="always").write(beckett()[:48_000], ENGLISH).text == ""


def test_silence_is_not_written(tmp_path: Path) -> None:
    assert network(tmp_path).write(np.zeros(16_000, np.float32), ENGLISH).text == ""


@pytest.mark.parametrize(
    ("text", "loops"),
    [
        ("", False),
        ("no no no no", False),
        ("No, no, no, no, no!", True),
        ("one two one two one two one two one two", True),
        ("one two one two one two one two one", False),
        ("so it goes on and on and on and on and on and it ends", True),
        ("哈哈哈哈哈", True),
        ("天天向上，天天向上", False),
    ],
)
def test_a_phrase_said_five_times_is_a_loop(text: str, loops: bool) -> None:
    assert repeats(text) is loops


@pytest.mark.parametrize(
    ("tag", "code"),
    [(None, None), ("en-GB", "en"), ("cmn", "zh"), ("zh-TW", "zh"), ("jv", "jw"), ("yue", "yue")],
)
def test_tags_are_those_of_whisper(tag: str | None, code: str | None) -> None:
    assert whisper_language(tag) == code


def test_a_decode_leaves_no_line_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO"):
        assert network(tmp_path).write(beckett()[:48_000], ENGLISH).text
    assert caplog.records == []
