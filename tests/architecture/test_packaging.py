import json
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.architecture.checkout import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
PINNED = re.compile(r"^([\w.-]+)==([\w.+!]+)( ; .*)? \\$")
HASH = re.compile(r"^    --hash=sha256:[0-9a-f]{64}( \\)?$")


def locked(lock: str) -> dict[str, list[Version]]:
    """The versions that a lock holds of each package."""
    versions: dict[str, list[Version]] = {}
    for line in (ROOT / "requirements" / f"{lock}.txt").read_text(encoding="utf-8").splitlines():
        if match := PINNED.match(line):
            versions.setdefault(canonicalize_name(match[1]), []).append(Version(match[2]))
    return versions


@pytest.mark.parametrize(
    ("lock", "extras"),
    [
        ("run", ["server", "voices"]),
        ("espeak", ["espeak"]),
        ("dev", ["server", "voices", "dev"]),
    ],
)
def test_a_lock_holds_what_the_project_asks_for(lock: str, extras: list[str]) -> None:
    wanted = [*PROJECT["project"]["dependencies"], *(r for extra in extras for r in EXTRAS[extra])]
    versions = locked(lock)
    for requirement in map(Requirement, wanted):
        found = versions.get(canonicalize_name(requirement.name), [])
        assert found, f"{requirement} is not in the lock: make lock"
        assert all(requirement.specifier.contains(version) for version in found), requirement


@pytest.mark.parametrize("lock", ["run", "espeak", "dev", "node"])
def test_every_line_of_a_lock_is_a_pin_or_a_hash(lock: str) -> None:
    lines = (ROOT / "requirements" / f"{lock}.txt").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if not (PINNED.match(line) or HASH.match(line))] == []


@pytest.mark.parametrize("lock", ["run", "espeak"])
def test_the_dev_lock_agrees_with_the_others(lock: str) -> None:
    dev = locked("dev")
    for package, versions in locked(lock).items():
        assert dev.get(package, versions) == versions, package


def test_the_node_lock_holds_node_alone() -> None:
    (wanted,) = map(Requirement, PROJECT["dependency-groups"]["node"])
    assert list(locked("node")) == [wanted.name]
    assert all(wanted.specifier.contains(version) for version in locked("node")[wanted.name])


def test_the_lock_of_the_page_names_no_registry() -> None:
    lock = json.loads((ROOT / "web" / "package-lock.json").read_text(encoding="utf-8"))
    packages = {name: one for name, one in lock["packages"].items() if name and "link" not in one}
    assert packages
    assert [name for name, one in packages.items() if "resolved" in one] == []
    assert [name for name, one in packages.items() if "integrity" not in one] == []


def test_the_lock_of_the_page_holds_what_it_asks_for() -> None:
    asked = json.loads((ROOT / "web" / "package.json").read_text(encoding="utf-8"))
    lock = json.loads((ROOT / "web" / "package-lock.json").read_text(encoding="utf-8"))
    for kind in ("dependencies", "devDependencies"):
        assert lock["packages"][""].get(kind) == asked.get(kind), "npm install in web/"


def test_the_built_page_is_in_the_wheel(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory"]
    done = subprocess.run(
        [*build, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.iterdir()
    package = "legato/console/static/"
    with zipfile.ZipFile(wheel) as opened:
        packed = {one.removeprefix(package) for one in opened.namelist() if one.startswith(package)}
    page = ROOT / "src" / package
    built = {path.relative_to(page).as_posix() for path in page.rglob("*") if path.is_file()}
    assert "index.html" in built
    assert packed == built


def test_what_decides_on_sound_and_text_is_pinned_exactly() -> None:
    assert all("==" in requirement for requirement in EXTRAS["voices"])


def test_no_gpl_package_is_a_default() -> None:
    for extra in ("server", "voices"):
        assert not any("espeak" in requirement for requirement in EXTRAS[extra])
    assert "espeakng-loader" not in locked("run")


@pytest.mark.parametrize("group", ["legato.synthesizers", "legato.recognizers"])
def test_every_entry_point_leads_to_a_class(group: str) -> None:
    declared = PROJECT["project"]["entry-points"][group]
    installed = {point.name: point for point in entry_points(group=group)}
    for engine in declared:
        assert isinstance(installed[engine].load(), type), engine
