"""What docs/cosyvoice.md says of the options is what they are."""

import re
import tomllib
from pathlib import Path

from legato import settings
from legato.engines.cosyvoice.config import Config, configured
from tests.architecture.checkout import ROOT

PAGE = (ROOT / "docs" / "cosyvoice.md").read_text(encoding="utf-8")


def example() -> str:
    found = re.search(r"^```toml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1]


def test_the_table_has_every_option() -> None:
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", PAGE, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"\w+", row)}
    assert set(Config.__struct_fields__) <= named


def test_the_defaults_in_the_table_are_true() -> None:
    for name in ("models", "parallel", "chunk_tokens", "streaming", "text_streaming", "levelling"):
        row = re.search(rf"^\| `{name}` \| (\w+) \|", PAGE, re.MULTILINE)
        assert row is not None
        default = getattr(Config(), name)
        assert row[1] == (str(default).lower() if isinstance(default, bool) else f"{default:g}")


def test_the_example_is_understood(tmp_path: Path) -> None:
    file = tmp_path / "legato.toml"
    file.write_text(example(), encoding="utf-8")
    spec = settings.load(file=file).settings.worker.engines[0]
    assert (spec.name, spec.target) == ("cosyvoice", None)
    config = configured(spec.options or {})
    assert config.prompts[0].name == "anna"
    assert tomllib.loads(example())["worker"]["engines"][0]["options"]["mode"] == config.mode
