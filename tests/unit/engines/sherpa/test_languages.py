from pathlib import Path

import pytest

from legato.engines.sherpa.directory import Model, ModelType
from legato.engines.sherpa.languages import primary, recognized, scripts, spoken
from legato.speech.scripts import Script


def model(type_: ModelType, encoder: str = "encoder.onnx") -> Model:
    return Model(type=type_, folder=Path(), files={"encoder": Path(encoder)}, metadata={})


@pytest.mark.parametrize(
    ("metadata", "languages"),
    [
        ({}, ("en",)),
        ({"language": "English", "voice": "en-us"}, ("en",)),
        ({"language": "Chinese + English"}, ("zh", "en")),
        ({"language": "Norwegian", "voice": "nb"}, ("no",)),
        ({"language": "Mandarin", "voice": "cmn"}, ("zh",)),
        ({"language": "Swahili", "voice": "sw"}, ("sw",)),
    ],
)
def test_a_voice_tells_its_languages(metadata: dict[str, str], languages: tuple[str, ...]) -> None:
    assert spoken(metadata) == languages


def test_a_recognizer_tells_its_languages_by_kind_or_tokens() -> None:
    assert recognized(None, ()) == ()
    assert recognized(model(ModelType.SENSE_VOICE), ()) == ("zh", "en", "ja", "ko", "yue")
    assert recognized(model(ModelType.TRANSDUCER), ("<blk>", "▁A", "你")) == ("zh", "en")
    assert recognized(model(ModelType.CTC), ("<blk>", "▁A")) == ("en",)
    assert recognized(model(ModelType.WHISPER, "tiny-encoder.onnx"), ()) == ()
    assert recognized(model(ModelType.WHISPER, "tiny.en-encoder.onnx"), ()) == ("en",)


def test_scripts_follow_from_languages() -> None:
    assert scripts(()) == frozenset()
    assert scripts(("zh-CN", "en")) == {Script.HAN, Script.LATIN}
    assert scripts(("ru",)) == {Script.CYRILLIC}
    assert primary("zh-HK") == "zh"
