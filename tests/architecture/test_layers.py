import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.checkout import ROOT, SOURCE

LINT = Path(sys.executable).with_name("lint-imports")


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [LINT, "--no-cache", "--config", "pyproject.toml"],
        cwd=folder,
        # Ahead of the editable installation, so that the copy is what is looked at.
        env={**os.environ, "PYTHONPATH": str(folder / "src"), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    ignore = shutil.ignore_patterns("__pycache__", "static")
    shutil.copytree(SOURCE, tmp_path / "src" / "legato", ignore=ignore)
    return tmp_path


def test_every_contract_is_kept() -> None:
    result = lint(ROOT)
    assert result.returncode == 0, result.stdout + result.stderr


def test_no_import_is_exempt() -> None:
    assert "ignore_imports" not in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_an_undeclared_package_fails(copy: Path) -> None:
    package = copy / "src" / "legato" / "drawer"
    package.mkdir()
    (package / "__init__.py").touch()
    result = lint(copy)
    assert result.returncode != 0
    assert "drawer" in result.stdout + result.stderr


@pytest.mark.parametrize(
    ("module", "imported", "contract"),
    [
        ("flow", "legato.protocol", "Imports point down"),
        ("errors", "legato.audio", "Imports point down"),
        ("bus", "legato.worker", "Imports point down"),
        ("client", "legato.gateway", "Imports point down"),
        ("flow", "time", "Pure layers do no I/O and read no clock"),
        ("session", "random", "Pure layers do no I/O and read no clock"),
        ("protocol", "asyncio", "Pure layers do no I/O and read no clock"),
        ("client", "legato.bus", "The client is light"),
        ("client", "pydantic", "The client is light"),
        ("gateway", "legato.engines", "The gateway never loads a model"),
        ("gateway", "onnxruntime", "The gateway never loads a model"),
        ("bench", "legato.bus", "The benchmark measures from outside"),
        ("engines", "websockets", "Workers and engines never speak WebSocket"),
        ("worker", "legato.session", "Workers and engines never serve a client"),
    ],
)
def test_a_forbidden_import_is_caught(
    copy: Path, module: str, imported: str, contract: str
) -> None:
    layer = copy / "src" / "legato" / module
    planted = layer / "planted.py" if layer.is_dir() else layer.with_suffix(".py")
    with planted.open("a", encoding="utf-8") as file:
        file.write(f"\nimport {imported}\n")
    result = lint(copy)
    assert result.returncode != 0
    assert f"{contract} BROKEN" in result.stdout


def test_a_cycle_is_caught(copy: Path) -> None:
    package = copy / "src" / "legato" / "session"
    (package / "hen.py").write_text("import legato.session.egg\n", encoding="utf-8")
    (package / "egg.py").write_text("import legato.session.hen\n", encoding="utf-8")
    assert "No cycles BROKEN" in lint(copy).stdout
