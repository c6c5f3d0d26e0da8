import json
import re
from pathlib import Path

import pytest

from legato.engines import installation
from legato.engines.installation import add_command, is_checkout
from legato.errors import EngineUnavailable


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package that must not be imported, with a file in it."""
    folder = tmp_path / "weighty"
    (folder / "assets").mkdir(parents=True)
    (folder / "__init__.py").write_text("raise RuntimeError('was imported')")
    (folder / "assets" / "weights.bin").write_bytes(b"1")
    monkeypatch.syspath_prepend(str(tmp_path))
    return folder


def test_a_file_is_found_without_importing_its_package(package: Path) -> None:
    found = installation.package_file("weighty", "assets", "weights.bin", extra="voices")
    assert found == package / "assets" / "weights.bin"


def test_a_missing_package_names_the_line_that_adds_it() -> None:
    with pytest.raises(EngineUnavailable, match=re.escape(add_command("voices"))):
        installation.package_file("no_such_package", "weights.bin", extra="voices")
    with pytest.raises(EngineUnavailable, match=re.escape(add_command("voices"))):
        installation.require("no_such_package", extra="voices")


@pytest.mark.usefixtures("package")
def test_a_package_without_the_file_names_the_line_that_mends_it() -> None:
    with pytest.raises(EngineUnavailable, match=r"no assets/none\.bin.*\[voices\]"):
        installation.package_file("weighty", "assets", "none.bin", extra="voices")


def test_the_version_of_what_is_not_installed_is_empty() -> None:
    assert installation.version("no-such-distribution") == ""
    assert installation.version("numpy")[0].isdigit()


@pytest.mark.parametrize(
    ("origin", "line"),
    [
        (None, 'pip install "legato-speech[a,b]"'),
        (
            {"url": "https://example.org/x.whl", "archive_info": {}},
            'pip install "legato-speech[a,b]"',
        ),
        ({"url": "file:///x", "dir_info": {}}, 'pip install ".[a,b]" (in the checkout)'),
        (
            {"url": "file:///x", "dir_info": {"editable": True}},
            'pip install -e ".[a,b]" (in the checkout)',
        ),
    ],
)
def test_the_line_fits_where_this_was_installed_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, origin: object, line: str
) -> None:
    folder = tmp_path / "legato_speech-0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: legato-speech\nVersion: 0\n")
    if origin is not None:
        (folder / "direct_url.json").write_text(json.dumps(origin))
    monkeypatch.syspath_prepend(str(tmp_path))

    assert add_command("a", "b") == line
    assert is_checkout() == ("checkout" in line)
    assert "[" not in add_command()


def test_what_is_not_installed_at_all_comes_from_the_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.path", [])

    assert add_command("a") == 'pip install "legato-speech[a]"'
