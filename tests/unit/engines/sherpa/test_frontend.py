from pathlib import Path

import pytest

from legato.engines import espeak
from legato.engines.sherpa.config import SynthesizerConfig
from legato.engines.sherpa.directory import Model, ModelType
from legato.engines.sherpa.frontend import Frontend, chosen, lexicons, missing
from legato.errors import EngineUnavailable

PLAIN = SynthesizerConfig()


def model(folder: Path, type_: ModelType = ModelType.VITS, **metadata: str) -> Model:
    return Model(type=type_, folder=folder, files={}, metadata=metadata)


def test_a_lexicon_comes_before_phonemes(tmp_path: Path) -> None:
    piper = model(tmp_path, comment="piper")
    assert chosen(piper, PLAIN) is Frontend.PHONEMES
    (tmp_path / "lexicon.txt").write_text("a a\n")
    assert chosen(piper, PLAIN) is Frontend.LEXICON
    assert chosen(model(tmp_path, frontend="characters"), PLAIN) is Frontend.CHARACTERS


def test_kokoro_and_matcha_take_phonemes_without_a_lexicon(tmp_path: Path) -> None:
    assert chosen(model(tmp_path, ModelType.KOKORO), PLAIN) is Frontend.PHONEMES
    assert chosen(model(tmp_path, ModelType.MATCHA), PLAIN) is Frontend.PHONEMES


def test_a_model_that_needs_its_lexicon_says_so(tmp_path: Path) -> None:
    with pytest.raises(EngineUnavailable, match=r"no lexicon\.txt"):
        chosen(model(tmp_path, comment="melo"), PLAIN)


def test_of_two_english_lexicons_one_is_taken(tmp_path: Path) -> None:
    for name in ("lexicon-gb-en.txt", "lexicon-us-en.txt", "lexicon-zh.txt"):
        (tmp_path / name).write_text("a a\n")
    kokoro = model(tmp_path, ModelType.KOKORO)
    assert [path.name for path in lexicons(kokoro, PLAIN)] == [
        "lexicon-us-en.txt",
        "lexicon-zh.txt",
    ]
    british = SynthesizerConfig(lexicon=("lexicon-gb-en.txt",))
    assert [path.name for path in lexicons(kokoro, british)] == ["lexicon-gb-en.txt"]
    with pytest.raises(EngineUnavailable, match="no lexicon"):
        lexicons(kokoro, SynthesizerConfig(lexicon=("lexicon-de.txt",)))


def test_phonemes_need_espeak(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(_self: espeak.Espeak) -> None:
        raise EngineUnavailable("eSpeak NG is not installed")

    monkeypatch.setattr(espeak.Espeak, "check", absent)
    missing(Frontend.LEXICON)
    with pytest.raises(EngineUnavailable, match=r"lexicon\.txt beside it.*is not installed"):
        missing(Frontend.PHONEMES)
