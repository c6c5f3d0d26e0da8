import hashlib
import threading
from pathlib import Path

import pytest

from legato.engines.models.faults import Stopped
from legato.engines.models.records import FileRecord, Manifest, Verdict, check, look

CONTENT = b"what a voice is made of\n"
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "model.bin"
    path.write_bytes(CONTENT)
    return path


def record(**told: str) -> FileRecord:
    return FileRecord(path="model.bin", size_bytes=len(CONTENT), **told)


def test_bytes_are_held_against_the_checksum_that_the_hub_told(path: Path) -> None:
    assert check(path, record(sha256=SHA256)) is Verdict.WHOLE
    assert check(path, record(sha256=SHA256.upper())) is Verdict.WHOLE
    path.write_bytes(CONTENT[::-1])
    assert check(path, record(sha256=SHA256)) is Verdict.WRONG_CHECKSUM


def test_git_s_id_of_a_small_file_is_a_checksum_too(path: Path) -> None:
    header = b"blob %d\0" % len(CONTENT)
    told = hashlib.sha1(header + CONTENT).hexdigest()
    assert check(path, record(blob_sha1=told)) is Verdict.WHOLE
    path.write_bytes(CONTENT[::-1])
    assert check(path, record(blob_sha1=told)) is Verdict.WRONG_CHECKSUM


def test_git_s_id_of_nothing_is_the_one_that_git_gives(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.touch()
    told = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"  # `git hash-object /dev/null`
    assert check(empty, FileRecord(path="empty", size_bytes=0, blob_sha1=told)) is Verdict.WHOLE


def test_without_a_checksum_the_size_is_all_that_can_be_said(path: Path) -> None:
    assert check(path, record()) is Verdict.SIZE_ONLY
    assert not record().is_checkable
    assert record(sha256=SHA256).is_checkable


def test_a_look_reads_nothing(path: Path) -> None:
    assert look(path, record(sha256="0" * 64)) is Verdict.SIZE_ONLY
    path.write_bytes(CONTENT[1:])
    assert look(path, record()) is check(path, record()) is Verdict.WRONG_SIZE
    path.unlink()
    assert look(path, record()) is check(path, record()) is Verdict.MISSING


def test_only_what_is_whole_as_far_as_can_be_seen_is_good() -> None:
    good = {verdict for verdict in Verdict if verdict.is_good}
    assert good == {Verdict.WHOLE, Verdict.SIZE_ONLY}


def test_a_check_can_be_stopped(path: Path) -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(Stopped):
        check(path, record(sha256=SHA256), stop)


def test_a_manifest_weighs_what_its_files_do() -> None:
    assert Manifest(model="m", revision="r", files=(record(), record())).size_bytes == 48
