import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.architecture.checkout import ROOT

pytestmark = pytest.mark.slow


def run(command: list[str], folder: Path, **extra: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **extra},
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize(
    ("check", "test", "code"),
    [("true", "true", 0), ("false", "true", 1), ("true", "false", 1), ("false", "false", 1)],
)
def test_ci_runs_both_and_fails_with_either(
    tmp_path: Path, check: str, test: str, code: int
) -> None:
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci")
    (tmp_path / "Makefile").write_text(
        f".PHONY: check test\ncheck:\n\t@echo checked; {check}\ntest:\n\t@echo tested; {test}\n"
    )
    result = run(["bash", str(tmp_path / ".ci" / "run")], ROOT)
    assert result.returncode == code
    assert result.stdout.count("checked") == result.stdout.count("tested") == 1


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout whose locks are empty, so that setting it up downloads nothing."""
    for name in ("scripts", "requirements"):
        (tmp_path / name).mkdir()
    shutil.copy(ROOT / "scripts" / "setup.sh", tmp_path / "scripts")
    (tmp_path / "requirements" / "espeak.txt").touch()
    (tmp_path / "pyproject.toml").touch()
    return tmp_path


SETUP = ["scripts/setup.sh", "espeak"]


def test_only_a_changed_lock_is_installed_again(checkout: Path) -> None:
    first = run(SETUP, checkout)
    assert first.returncode == 0, first.stderr
    assert "making .venv" in first.stdout
    assert "installing requirements/espeak.txt" in first.stdout
    again = run(SETUP, checkout)
    assert (again.returncode, again.stdout) == (0, "")
    (checkout / "requirements" / "espeak.txt").write_text("# changed\n")
    changed = run(SETUP, checkout)
    assert changed.stdout == "legato: installing requirements/espeak.txt\n"


def test_a_checkout_that_was_moved_gets_a_new_environment(checkout: Path, tmp_path: Path) -> None:
    run(SETUP, checkout)
    moved = checkout.rename(tmp_path.with_name(tmp_path.name + "-moved"))
    assert "making .venv" in run(SETUP, moved).stdout


def test_without_a_python_the_way_out_is_named(checkout: Path) -> None:
    result = run(SETUP, checkout, PYTHON="no-such-python-7f3a")
    assert result.returncode == 1
    assert "sudo apt-get install python3 python3-venv" in result.stderr


def test_without_venv_the_way_out_is_named(checkout: Path) -> None:
    python = checkout / "python-without-venv"
    python.write_text('#!/bin/sh\n[ "$1" = -c ] || { [ "$1" = --version ] || exit 1; }\n')
    python.chmod(0o755)
    result = run(SETUP, checkout, PYTHON=str(python))
    assert result.returncode == 1
    assert "sudo apt-get install python3-venv" in result.stderr
    assert not (checkout / ".venv").exists()


def test_a_lock_that_cannot_be_installed_leaves_no_stamp(checkout: Path) -> None:
    (checkout / "requirements" / "espeak.txt").write_text("no-hash==1\n")
    assert run(SETUP, checkout).returncode == 1
    (checkout / "requirements" / "espeak.txt").write_text("")
    assert "installing requirements/espeak.txt" in run(SETUP, checkout).stdout


def test_two_at_once_do_not_disturb_each_other(checkout: Path) -> None:
    both = [
        subprocess.Popen(SETUP, cwd=checkout, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    outputs = [process.communicate(timeout=60)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert sorted(map(bool, outputs)) == [False, True]
