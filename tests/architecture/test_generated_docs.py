import json
import subprocess
import sys
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

import pytest
from pydantic_settings import BaseSettings, SettingsConfigDict

from legato.errors import CLIENT_ONLY, ERRORS
from legato.protocol.codec import CLIENT_TYPES, SERVER_TYPES
from scripts.generate_docs import (
    configuration_page,
    drawing,
    errors_page,
    messages_page,
    pages,
    table,
)
from tests.architecture.checkout import ROOT, name

PAGES = pages()


@pytest.mark.parametrize("path", sorted(PAGES), ids=name)
def test_a_generated_page_is_what_the_code_says(path: Path) -> None:
    assert path.exists(), "make docs"
    assert path.read_text(encoding="utf-8") == PAGES[path], "make docs"


def test_check_finds_nothing_to_write() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "scripts.generate_docs", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_every_message_and_error_has_its_place() -> None:
    messages, errors = messages_page(), errors_page()

    assert all(messages.count(f"\n### {kind}\n") == 1 for kind in CLIENT_TYPES | SERVER_TYPES)
    codes = [*ERRORS, *(kind.code for kind in CLIENT_ONLY)]
    assert all(errors.count(f"| `{code}` |") == 1 for code in codes)


def test_the_schema_is_json() -> None:
    schema = json.loads((ROOT / "docs" / "schema" / "legato.v1.json").read_text(encoding="utf-8"))

    assert {"StreamStart", "ClientMessage", "ServerMessage"} <= set(schema["$defs"])


def test_bars_and_line_breaks_do_not_break_a_table() -> None:
    assert table(["a"], [["x | y\n  z"]]) == "| a |\n| --- |\n| x \\| y z |"


class Light(Enum):
    RED = 1
    GREEN = 2


class Change(Enum):
    GO = 1
    HONK = 2


def test_a_drawing_shows_every_step_that_leads_elsewhere() -> None:
    steps = {(Light.RED, Change.GO): Light.GREEN, (Light.RED, Change.HONK): Light.RED}

    assert drawing(steps, Light, Change).splitlines()[2:] == [
        "    [*] --> red",
        "    red --> green: go",
        "```",
    ]


@dataclass(frozen=True, kw_only=True)
class DoorConfig:
    """How a door opens.

    Attributes:
        delay: Seconds until it does.
        keys: Who may.
    """

    delay: float = 1.5
    keys: tuple[str, ...] = ("ann",)


class HouseSettings(BaseSettings):
    """A house.

    Attributes:
        street: Where it stands.
    """

    model_config = SettingsConfigDict(env_prefix="HOUSE_", env_nested_delimiter="__")

    door: DoorConfig = field(default_factory=DoorConfig)
    street: str | None = None


def test_a_setting_is_listed_with_variable_default_and_meaning() -> None:
    page = configuration_page(HouseSettings)

    assert "## `[door]`\n\nHow a door opens." in page
    assert "| `delay` | `HOUSE_DOOR__DELAY` | `1.5` | Seconds until it does. |" in page
    assert '| `keys` | `HOUSE_DOOR__KEYS` | `["ann"]` | Who may. |' in page
    assert "| `street` | `HOUSE_STREET` | – | Where it stands. |" in page
