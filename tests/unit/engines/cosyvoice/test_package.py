import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from legato.engines.cosyvoice.config import Config
from legato.engines.cosyvoice.directory import VERSIONS
from legato.engines.cosyvoice.package import auto_model, check, has_cuda
from legato.errors import EngineUnavailable
from tests.unit.engines.cosyvoice.stage import STANDINS, model_dir, package

ONE, TWO, THREE = VERSIONS


def torch(*, sees: bool) -> SimpleNamespace:
    return SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: sees))


def test_a_missing_package_is_told_with_the_way_to_get_it() -> None:
    with pytest.raises(EngineUnavailable, match=r"clone .*--recursive.*source_dir"):
        check(Config(), TWO)


def test_a_checkout_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    with pytest.raises(EngineUnavailable, match="no checkout of CosyVoice"):
        check(Config(source_dir=str(tmp_path)), TWO)
    config = Config(source_dir=str(STANDINS), model_dir=model_dir(tmp_path, 2))
    check(config, TWO)
    assert auto_model(config, TWO).sample_rate == 24_000
    assert str(STANDINS) in sys.path
    with package():
        pass  # forget what was imported


@pytest.mark.parametrize(("version", "option"), [(ONE, "vllm"), (THREE, "jit")])
def test_a_flag_that_a_version_does_not_have_is_refused(version: object, option: str) -> None:
    with package(), pytest.raises(EngineUnavailable, match=f"has no {option}"):
        check(Config(**{option: True}), version)  # type: ignore[arg-type]  # one of VERSIONS


def test_flags_without_cuda_are_refused_instead_of_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = Config(model_dir=model_dir(tmp_path, 2), trt=True, fp16=True)
    monkeypatch.setitem(sys.modules, "torch", torch(sees=False))
    with package(), pytest.raises(EngineUnavailable, match=r"trt, fp16 need CUDA.*nvidia-smi"):
        auto_model(config, TWO)
    monkeypatch.setitem(sys.modules, "torch", torch(sees=True))
    with package():
        assert auto_model(config, TWO).flags.keys() >= {"load_trt", "fp16"}


def test_without_torch_there_is_no_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert not has_cuda()


def test_a_package_that_cosyvoice_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with package():
        monkeypatch.setitem(sys.modules, "cosyvoice.cli", None)
        with pytest.raises(EngineUnavailable, match=r"cannot be imported: cosyvoice\.cli"):
            auto_model(Config(), TWO)


def test_an_old_checkout_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    old = ModuleType("cosyvoice.cli.cosyvoice")
    monkeypatch.setitem(sys.modules, "cosyvoice.cli.cosyvoice", old)
    with pytest.raises(EngineUnavailable, match="no AutoModel"):
        auto_model(Config(), TWO)


def test_a_model_that_does_not_load_says_why(tmp_path: Path) -> None:
    with package(), pytest.raises(EngineUnavailable, match="cannot be loaded: TypeError: No valid"):
        auto_model(Config(model_dir=str(tmp_path)), TWO)
