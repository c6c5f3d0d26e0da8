import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from legato.engines.models.config import ModelsConfig
from legato.engines.models.names import parse
from legato.engines.models.pull import Pull
from legato.engines.models.records import FileRecord, Manifest
from legato.engines.models.shelf import Shelf
from tests.standins.hubs import Hubs, hubs


class FakeRandom:
    """Draws nothing but zero: no try waits."""

    def random(self) -> float:
        return 0.0


class FakeWatcher:
    """Counts what it is told."""

    def __init__(self) -> None:
        self.size_bytes = 0
        self.done_paths: list[str] = []
        self.manifest: Manifest | None = None
        self._lock = threading.Lock()

    def listed(self, manifest: Manifest) -> None:
        self.manifest = manifest

    def moved(self, size_bytes: int) -> None:
        with self._lock:
            self.size_bytes += size_bytes

    def done(self, record: FileRecord) -> None:
        self.done_paths.append(record.path)


WEIGHTS = bytes(range(256)) * 1_200
"""Large enough for several reads."""

FILES = {"model.bin": WEIGHTS, "sub/config.json": b'{"rate": 24000}', "tokens.txt": b"a\nb\n"}


class Site:
    """A stand-in hub, a folder, and pulls between them."""

    def __init__(self, hub: Hubs, root: Path) -> None:
        self.hub = hub
        self.shelf = Shelf(root)
        self.watcher = FakeWatcher()
        hub.files["lark/bird"] = dict(FILES)

    def pull(self, name: str = "huggingface:lark/bird", **changes: object) -> Pull:
        """Make a pull of a model; `changes` are settings."""
        again = bool(changes.pop("again", False))
        self.watcher = FakeWatcher()
        settings: dict[str, object] = {
            "huggingface": self.hub.url,
            "modelscope": self.hub.url,
            "timeout": 5.0,
            **changes,
        }
        return Pull(
            model=parse(name),
            known=None,
            shelf=self.shelf,
            config=ModelsConfig(**settings),  # type: ignore[arg-type]  # settings by their names
            rng=FakeRandom(),
            watcher=self.watcher,
            again=again,
        )


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with hubs() as hub:
        yield Site(hub, tmp_path / "models")
