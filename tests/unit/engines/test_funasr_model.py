import logging
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from legato.engines import funasr_model
from legato.engines.funasr_model import Config, Kind, Model, joined, kind_of, unspaced
from legato.errors import EngineFailed, EngineUnavailable
from tests.unit.engines.funasr_stage import made, model, package


@pytest.fixture
def funasr() -> Iterator[ModuleType]:
    with package() as found:
        yield found


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("ParaformerStreaming", Kind.STREAMING),
        ("SenseVoiceSmall", Kind.SENSE_VOICE),
        ("SeacoParaformer", Kind.CONTEXTUAL),
        ("BiCifParaformer", Kind.WHOLE),
    ],
)
def test_a_model_is_known_by_its_configuration(tmp_path: Path, name: str, kind: Kind) -> None:
    assert kind_of(model(tmp_path, name)) is kind


def test_a_model_of_another_kind_is_named(tmp_path: Path) -> None:
    with pytest.raises(EngineUnavailable, match="holds a CTTransformer; this engine knows Para"):
        kind_of(model(tmp_path, "CTTransformer"))


def test_a_model_that_is_not_named_is_asked_for(funasr: ModuleType) -> None:
    with pytest.raises(EngineUnavailable, match="legato models pull modelscope:iic"):
        funasr_model.check(Config())


def test_a_name_of_the_hub_is_no_folder(funasr: ModuleType) -> None:
    with pytest.raises(EngineUnavailable, match="no folder paraformer-zh; funasr would look"):
        funasr_model.check(Config(model_dir="paraformer-zh"))
    assert funasr.downloads == []


def test_a_punctuation_model_is_looked_for_too(funasr: ModuleType, tmp_path: Path) -> None:
    folder = model(tmp_path, "Paraformer")
    with pytest.raises(EngineUnavailable, match="no folder ct-punc"):
        funasr_model.check(Config(model_dir=folder, punc_model_dir="ct-punc"))


def test_a_model_without_weights_is_refused(tmp_path: Path) -> None:
    folder = model(tmp_path, "Paraformer")
    Path(folder, "model.pt").unlink()
    with pytest.raises(EngineUnavailable, match=r"lacks model\.pt; .* random weights"):
        kind_of(folder)


def test_a_pointer_is_no_model(tmp_path: Path) -> None:
    folder = model(tmp_path, "Paraformer")
    Path(folder, "model.pt").write_bytes(b"version https://git-lfs.github.com/spec/v1\noid 1\n")
    with pytest.raises(EngineUnavailable, match="Git LFS pointer"):
        kind_of(folder)


def test_nothing_is_installed_for_a_model(tmp_path: Path) -> None:
    folder = model(tmp_path, "Paraformer")
    Path(folder, "requirements.txt").write_text("torch\n", encoding="utf-8")
    with pytest.raises(EngineUnavailable, match="funasr would install"):
        kind_of(folder)


def test_a_folder_with_a_name_of_the_hub_is_not_taken_from_there(
    funasr: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(model(tmp_path, "SenseVoiceSmall")).rename(tmp_path / "SenseVoiceSmall")
    monkeypatch.chdir(tmp_path)
    Model("SenseVoiceSmall", Config())
    assert funasr.downloads == funasr.updates == funasr.installed == []


def test_loading_prints_nothing_and_leaves_logging_alone(
    funasr: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = logging.getLogger()
    before = list(root.handlers), root.level
    network = Model(model(tmp_path, "Paraformer"), Config(threads=3))
    assert (list(root.handlers), root.level) == before
    assert capsys.readouterr().out == ""
    assert made().kwargs["ncpu"] == 3
    network.ask(np.zeros(9_600, np.float32), cache={})
    assert made().bars == 0


def test_a_model_that_cannot_be_loaded_says_why(funasr: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(EngineUnavailable, match="AssertionError: Paraformer is not registered"):
        Model(model(tmp_path, "Paraformer", "broken: 1"), Config())


def test_an_answer_without_text_is_a_failure(funasr: ModuleType, tmp_path: Path) -> None:
    found = Model(model(tmp_path, "Paraformer", "nonsense: 1"), Config())
    with pytest.raises(EngineFailed, match="no text"):
        found.ask(np.zeros(9_600, np.float32), cache={})


@pytest.mark.parametrize(
    ("text", "more", "both"),
    [
        ("", "你好", "你好"),
        ("你好", "世界", "你好世界"),
        ("hello", "world", "hello world"),
        ("hel@@", "lo", "hello"),
        ("你好", "ok", "你好ok"),
        ("ok", "", "ok"),
    ],
)
def test_what_is_new_is_put_behind_what_was_there(text: str, more: str, both: str) -> None:
    assert joined(text, more) == both


def test_chinese_has_no_spaces() -> None:
    assert unspaced("正 是 因 为  open source 的 力 量") == "正是因为 open source 的力量"
