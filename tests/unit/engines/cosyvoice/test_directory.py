from pathlib import Path

import pytest

from legato.engines.cosyvoice.directory import missing_weights, version_of
from legato.errors import EngineUnavailable
from tests.unit.engines.cosyvoice.stage import YAML, model_dir


@pytest.mark.parametrize("number", YAML)
def test_the_version_is_told_by_the_yaml(tmp_path: Path, number: int) -> None:
    version = version_of(model_dir(tmp_path, number))
    assert version.number == number
    assert version.yaml == YAML[number]


def test_what_is_no_model_is_told_with_the_file_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(EngineUnavailable, match=r"cosyvoice\.yaml, cosyvoice2\.yaml"):
        version_of(str(tmp_path))
    with pytest.raises(EngineUnavailable, match=r"not a folder.*nothing is downloaded"):
        version_of(str(tmp_path / "nothing"))


def test_weights_are_looked_for(tmp_path: Path) -> None:
    folder = model_dir(tmp_path, 2)
    assert missing_weights(folder) == []
    Path(folder, "hift.pt").unlink()
    Path(folder, "llm.pt").write_text("version https://git-lfs.github.com/spec/v1\n")
    assert missing_weights(folder) == ["llm.pt", "hift.pt"]
