"""Servers for whole test modules."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.processes import TONES, Server, running_server


@pytest.fixture(scope="session")
def tone_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server whose only engines are `tone` and `echo`; shared, so leave it as it is."""
    with running_server(cwd=tmp_path_factory.mktemp("tone-server"), env=TONES) as server:
        yield server


@pytest.fixture(scope="session")
def voice_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with the default engines; shared, so leave it as it is."""
    with running_server(cwd=tmp_path_factory.mktemp("voice-server")) as server:
        yield server


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
