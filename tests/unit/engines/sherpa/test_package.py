from pathlib import Path

import pytest

from legato.engines.sherpa import package
from legato.engines.sherpa.config import SynthesizerConfig
from legato.engines.sherpa.directory import SYNTHESIZERS, find
from legato.errors import EngineUnavailable
from tests.unit.engines.sherpa import graphs


def test_a_version_with_gpl_code_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "version", lambda _name: "1.13.8")
    with pytest.raises(EngineUnavailable, match=r"1\.13\.8 is too old"):
        package.check()


def test_a_file_that_the_runtime_does_not_take_is_told(tmp_path: Path) -> None:
    model = find(str(graphs.piper(tmp_path)), SYNTHESIZERS)
    model.files["model"].write_bytes(b"\x3a\x02\xff\xff")
    with pytest.raises(EngineUnavailable, match="cannot load vits from"):
        package.voice(model, SynthesizerConfig(), "", {})
