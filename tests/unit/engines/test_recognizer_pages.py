"""What docs/whisper.md and docs/funasr.md say of the options is what they are."""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from legato import settings
from legato.engines import funasr_model, whisper_model
from tests.architecture.checkout import ROOT

PAGES = {
    "faster-whisper": ("whisper.md", whisper_model.Config),
    "funasr": ("funasr.md", funasr_model.Config),
}


@pytest.mark.parametrize("name", PAGES)
def test_the_table_has_every_option_and_its_default(name: str) -> None:
    page, config = PAGES[name]
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*?) ?\| ", text, re.MULTILINE))
    defaults: dict[str, Any] = msgspec.to_builtins(config())
    assert {option: rows[option] for option in defaults} == {
        option: written(default) for option, default in defaults.items()
    }


def written(default: object) -> str:
    if isinstance(default, bool):
        return str(default).lower()
    return str(list(default)) if isinstance(default, tuple | list) else str(default)


@pytest.mark.parametrize("name", PAGES)
def test_the_example_is_understood(name: str, tmp_path: Path) -> None:
    page, config = PAGES[name]
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    found = re.search(r"^```toml\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert found is not None
    file = tmp_path / "legato.toml"
    file.write_text(found[1], encoding="utf-8")
    worker = settings.load(file=file).settings.worker
    assert list(worker.recognizers) == [name]
    assert worker.engines[0].name == name
    assert msgspec.convert(worker.engines[0].options, config)
