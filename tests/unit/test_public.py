"""What `import legato` gives."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import legato

ROOT = Path(__file__).parents[2]


def test_every_public_name_is_there_and_no_other() -> None:
    assert legato.__all__ == sorted(legato.__all__)
    for name in legato.__all__:
        assert getattr(legato, name).__name__ == name
    assert set(legato.__all__) <= set(dir(legato))
    with pytest.raises(AttributeError, match="nonsense"):
        legato.nonsense  # noqa: B018  (that it raises is the point)


def test_public_things_say_what_they_are() -> None:
    assert [name for name in legato.__all__ if not getattr(legato, name).__doc__] == []


def test_the_version_is_the_packages() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")

    assert tomllib.loads(text)["project"]["version"] == legato.__version__


def test_importing_it_loads_nothing_heavy() -> None:
    code = (
        "import sys, legato; client = legato.connect, legato.connect_sync, legato.Client;"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)

    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert "websockets" in loaded
    heavy = {"av", "hibari", "moonshine_voice", "onnxruntime", "pydantic", "rich", "starlette"}
    assert not loaded & (heavy | {"structlog", "typer", "uvicorn", "uvloop", "prometheus_client"})
