"""What docs/sherpa.md says is what is."""

import re
from pathlib import Path

from legato import settings
from legato.engines.sherpa.config import RecognizerConfig, SynthesizerConfig, configured
from legato.engines.sherpa.directory import RECOGNIZERS, SYNTHESIZERS, ModelType
from tests.architecture.checkout import ROOT

PAGE = (ROOT / "docs" / "sherpa.md").read_text(encoding="utf-8")


def test_the_tables_have_every_option_and_no_other() -> None:
    rows = set(re.findall(r"^\| `([a-z_]+)` \| [^|]*\| [^|]*\|$", PAGE, re.MULTILINE))
    fields = {*RecognizerConfig.__struct_fields__, *SynthesizerConfig.__struct_fields__}
    assert fields <= rows
    assert rows <= fields | {"matcha", "kokoro", "transducer"}


def test_the_defaults_in_the_tables_are_true() -> None:
    for config in (RecognizerConfig(), SynthesizerConfig()):
        for name in config.__struct_fields__:
            row = re.search(rf"^\| `{name}` \| ?`?([^|`]*?)`? ?\|", PAGE, re.MULTILINE)
            assert row is not None
            default = getattr(config, name)
            shown = str(default).lower() if isinstance(default, bool) else str(default or "")
            assert row[1].strip() == ("" if default == () else shown)


def test_every_kind_is_named() -> None:
    kinds = {kind.type for kind in (*RECOGNIZERS, *SYNTHESIZERS)}
    assert kinds == set(ModelType)
    assert all(f"| `{kind}`" in PAGE for kind in kinds)


def test_the_example_is_understood(tmp_path: Path) -> None:
    found = re.search(r"^```toml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert found is not None
    file = tmp_path / "legato.toml"
    file.write_text(found[1], encoding="utf-8")
    hears, speaks, _ = settings.load(file=file).settings.worker.engines
    assert (hears.name, speaks.name) == ("sherpa-onnx", "sherpa-onnx")
    heard = configured(hears.options or {}, RecognizerConfig)
    spoken = configured(speaks.options or {}, SynthesizerConfig)
    assert heard.model_dir == "models/zipformer-zh-en"
    assert spoken.model_dir == "models/vits-melo-tts-zh_en"
