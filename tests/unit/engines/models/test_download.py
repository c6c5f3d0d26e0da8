import os
import threading
from pathlib import Path

import pytest

from legato.engines.models.download import profile, reuse
from legato.engines.models.faults import Stopped
from legato.engines.models.records import FileRecord

# The rules of a download, its parts and its tries are told in test_pull.py, where a hub answers.

CONTENT = b"1234"
SHA256 = "03ac674216f3e15c761ee1a5e255f067953623c8b388b4459e13f978d7c846f4"


def test_tries_come_more_and_more_slowly() -> None:
    spaced = profile(6)
    assert [spaced.ceiling(n, 0.0) for n in (0, 1, 5, 9)] == [0.5, 1.0, 16.0, 20.0]
    assert spaced.tries == 6


def test_a_whole_file_is_shared_not_fetched(tmp_path: Path) -> None:
    old, target = tmp_path / "old", tmp_path / "new" / "file"
    old.write_bytes(CONTENT)
    record = FileRecord(path="file", size_bytes=4, sha256=SHA256)
    assert reuse(old, record, target, threading.Event())
    assert old.samefile(target)


def test_without_links_it_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "link", refuse)
    old, target, stop = tmp_path / "old", tmp_path / "file", threading.Event()
    old.write_bytes(CONTENT)
    record = FileRecord(path="file", size_bytes=4, sha256=SHA256)
    assert reuse(old, record, target, stop)
    assert target.read_bytes() == CONTENT
    assert not old.samefile(target)
    stop.set()
    with pytest.raises(Stopped):
        reuse(old, record, target, stop)


@pytest.mark.parametrize(("content", "sha256"), [(b"4321", SHA256), (b"1", SHA256), (CONTENT, "")])
def test_what_is_not_known_to_be_whole_is_fetched(
    tmp_path: Path, content: bytes, sha256: str
) -> None:
    old, target = tmp_path / "old", tmp_path / "file"
    old.write_bytes(content)
    record = FileRecord(path="file", size_bytes=4, sha256=sha256)
    assert not reuse(old, record, target, threading.Event())
    assert not target.exists()
