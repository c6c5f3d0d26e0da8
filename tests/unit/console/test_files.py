import gzip
from pathlib import Path

import pytest

from legato.console.files import TYPES, BuiltFile, built_page, read


def test_the_built_page_is_looked_for_beside_the_code() -> None:
    assert built_page().name == "static"


def test_a_folder_without_an_index_is_no_page(tmp_path: Path) -> None:
    assert read(tmp_path / "nowhere") == {}
    (tmp_path / "favicon.svg").write_text("<svg/>")
    assert read(tmp_path) == {}


def test_files_are_found_at_any_depth_and_hidden_ones_left(tmp_path: Path) -> None:
    (tmp_path / "assets").mkdir()
    for name in ("index.html", "assets/index-B3xY_z-9.js", ".gitkeep"):
        (tmp_path / name).write_text("x")
    assert set(read(tmp_path)) == {"index.html", "assets/index-B3xY_z-9.js"}


@pytest.mark.parametrize(
    ("name", "is_immutable"),
    [
        ("assets/index-B3xY_z-9.js", True),
        ("assets/index.js", False),
        ("assets/a-short.js", False),
        ("index.html", False),
        ("pcm-worklet12.js", False),
    ],
)
def test_only_what_is_named_by_its_content_never_changes(name: str, is_immutable: bool) -> None:
    assert BuiltFile.made(name, b"x").is_immutable is is_immutable


def test_what_gets_smaller_is_packed_always_alike() -> None:
    text = b"let silence = 0;\n" * 100
    packed = BuiltFile.made("a.js", text).packed
    assert packed is not None
    assert gzip.decompress(packed) == text
    assert packed == BuiltFile.made("a.js", text).packed
    assert BuiltFile.made("a.js", b"x").packed is None
    assert BuiltFile.made("a.wav", bytes(1000)).packed is None


def test_scripts_are_scripts_on_every_system() -> None:
    assert BuiltFile.made("a.js", b"").media_type == "text/javascript; charset=utf-8"
    assert BuiltFile.made("a.strange", b"").media_type == "application/octet-stream"
    assert all(name == name.lower() for name in TYPES)


def test_another_content_has_another_etag() -> None:
    assert BuiltFile.made("a", b"1").etag != BuiltFile.made("a", b"2").etag
