import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from legato.cli.extras import MODULES, MissingExtra, missing, need
from legato.engines.installation import DISTRIBUTION, add_command

ROOT = Path(__file__).parents[3]


def declared() -> dict[str, list[str]]:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    extras: dict[str, list[str]] = tomllib.loads(text)["project"]["optional-dependencies"]
    return extras


def test_every_module_comes_with_its_extra() -> None:
    names = packages_distributions()
    for extra, modules in MODULES.items():
        packages = " ".join(declared()[extra])
        for module in modules:
            assert names[module][0].replace("_", "-") in packages, module


def test_what_is_installed_is_needed_in_silence() -> None:
    assert missing("server") == []
    need("server")


def test_what_is_missing_is_named_with_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = {"server": ("no_such_module", "asyncio", "nor_this_one")}
    monkeypatch.setattr("legato.cli.extras.MODULES", wanted)

    with pytest.raises(MissingExtra) as caught:
        need("server")

    assert caught.value.message == (
        f"no_such_module, nor_this_one are not installed: {add_command('server')}"
    )


def test_the_line_names_this_distribution() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")

    assert tomllib.loads(text)["project"]["name"] == DISTRIBUTION
