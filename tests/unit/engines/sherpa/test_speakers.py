from pathlib import Path

import pytest

from legato.engines.sherpa.config import SynthesizerConfig
from legato.engines.sherpa.directory import Model, ModelType
from legato.engines.sherpa.speakers import voices
from legato.errors import EngineUnavailable
from legato.speech import Voice

PLAIN = SynthesizerConfig()


def model(folder: Path, type_: ModelType, **metadata: str) -> Model:
    return Model(
        type=type_, folder=folder, files={"model": folder / "voice.onnx"}, metadata=metadata
    )


def names(found: tuple[Voice, ...]) -> list[str]:
    return [voice.name for voice in found]


def test_speakers_without_names_have_numbers(tmp_path: Path) -> None:
    found = voices(model(tmp_path, ModelType.VITS, n_speakers="2"), PLAIN, ("zh",), "e")
    assert names(found) == ["speaker-0", "speaker-1"]
    assert found[0].languages == ("zh",)
    assert names(voices(None, PLAIN, (), "e")) == ["speaker-0"]
    assert names(voices(model(tmp_path, ModelType.VITS, n_speakers="0"), PLAIN, (), "e")) == [
        "speaker-0"
    ]


def test_kokoro_tells_names_languages_and_genders(tmp_path: Path) -> None:
    told = {"n_speakers": "3", "speaker_names": "af_sky,zm_yun,odd"}
    found = voices(model(tmp_path, ModelType.KOKORO, **told), PLAIN, ("en",), "e")
    assert [(voice.name, voice.languages, voice.gender) for voice in found] == [
        ("af_sky", ("en-US",), "female"),
        ("zm_yun", ("zh-CN",), "male"),
        ("odd", ("en",), None),
    ]


def test_pipers_file_tells_names(tmp_path: Path) -> None:
    (tmp_path / "voice.onnx.json").write_text('{"speaker_id_map": {"anna": 1, "far": 7}}')
    found = voices(model(tmp_path, ModelType.VITS, n_speakers="2"), PLAIN, ("en",), "e")
    assert names(found) == ["speaker-0", "anna"]


@pytest.mark.parametrize("content", ["[]", "{", '{"speaker_id_map": {"a": "b"}}'])
def test_a_file_without_names_does_no_harm(tmp_path: Path, content: str) -> None:
    (tmp_path / "voice.onnx.json").write_text(content)
    found = voices(model(tmp_path, ModelType.VITS, n_speakers="1"), PLAIN, ("en",), "e")
    assert names(found) == ["speaker-0"]


def test_the_operator_may_name_speakers(tmp_path: Path) -> None:
    two = model(tmp_path, ModelType.VITS, n_speakers="2")
    found = voices(two, SynthesizerConfig(voices=("anna",)), ("en",), "e")
    assert names(found) == ["anna", "speaker-1"]
    with pytest.raises(EngineUnavailable, match="names 3 speakers, the model has 2"):
        voices(two, SynthesizerConfig(voices=("a", "b", "c")), ("en",), "e")
    with pytest.raises(EngineUnavailable, match="same name"):
        voices(two, SynthesizerConfig(voices=("a", "a")), ("en",), "e")
