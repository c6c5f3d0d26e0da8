import threading
from pathlib import Path

import pytest

from legato.engines.models.faults import FolderUnusable, ModelBusy, NotPulled
from legato.engines.models.names import parse
from legato.engines.models.records import FileRecord, Manifest, Verdict
from legato.engines.models.shelf import MANIFEST, Shelf, read_manifest, told, write_manifest

MODEL = parse("modelscope:lark/bird")
RECORD = FileRecord(path="model.bin", size_bytes=4)


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path / "models")


def manifest(*records: FileRecord) -> Manifest:
    return Manifest(model=MODEL.plain, revision="r", files=records or (RECORD,))


def put(folder: Path, content: bytes = b"1234", of: Manifest | None = None) -> None:
    folder.mkdir(parents=True)
    (folder / "model.bin").write_bytes(content)
    write_manifest(folder / MANIFEST, of or manifest())


def test_nothing_is_in_a_folder_that_is_not_there(shelf: Shelf) -> None:
    assert shelf.entries() == []
    assert shelf.entry(MODEL) is None
    assert shelf.manifest(MODEL) is None


def test_a_whole_and_a_partial_model_are_told_apart(shelf: Shelf) -> None:
    other = parse("huggingface:lark/nest")
    put(shelf.folder(MODEL))
    put(shelf.partial(other), b"12")
    (shelf.root / "huggingface" / "stray").mkdir(parents=True)
    (shelf.root / "huggingface" / "o").mkdir()
    (shelf.root / "huggingface" / "o" / " no model").mkdir()

    nest, bird = shelf.entries()
    assert (nest.model, nest.is_whole, nest.wanted_bytes) == (other, False, 4)
    assert (bird.model, bird.is_whole, bird.is_updating) == (MODEL, True, False)
    assert bird.path == shelf.folder(MODEL)
    put(shelf.partial(MODEL))
    assert shelf.entries()[1].is_updating


def test_a_file_that_changed_is_found(shelf: Shelf) -> None:
    put(shelf.folder(MODEL), of=manifest(RECORD, FileRecord(path="lost", size_bytes=1)))
    moved: list[int] = []
    found = shelf.verify(MODEL, threading.Event(), moved.append)
    assert [verdict for _, verdict in found] == [Verdict.SIZE_ONLY, Verdict.MISSING]
    assert moved == [4, 1]
    assert shelf.complete(MODEL, manifest()) is None


def test_what_is_not_there_cannot_be_verified_or_removed(shelf: Shelf) -> None:
    with pytest.raises(NotPulled, match="legato models pull modelscope:lark/bird"):
        shelf.verify(MODEL, threading.Event(), print)
    with pytest.raises(NotPulled, match="legato models list"):
        shelf.remove(MODEL)


def test_a_receipt_says_what_is_gone(shelf: Shelf) -> None:
    put(shelf.folder(MODEL))
    put(shelf.partial(MODEL))
    receipt = shelf.remove(MODEL)

    assert receipt.paths == (shelf.folder(MODEL), shelf.partial(MODEL))
    assert receipt.files == 4
    assert receipt.size_bytes > 8
    assert shelf.entry(MODEL) is None
    assert not (shelf.root / "modelscope").exists()


def test_another_owner_s_model_stays(shelf: Shelf) -> None:
    other = parse("modelscope:wren/bird")
    put(shelf.folder(MODEL))
    put(shelf.folder(other))
    shelf.remove(MODEL)
    assert [entry.model for entry in shelf.entries()] == [other]


def test_a_model_that_is_worked_on_is_not_removed(shelf: Shelf) -> None:
    put(shelf.folder(MODEL))
    with shelf.lock(MODEL), pytest.raises(ModelBusy, match="another process is working on"):
        shelf.remove(MODEL)
    with shelf.lock(MODEL), shelf.lock(parse("modelscope:lark/nest")):
        pass
    shelf.remove(MODEL)


@pytest.mark.parametrize(
    "written",
    [b"", b"{}", b"no", b'{"model":"m","revision":"r","files":[{"path":"../x","size_bytes":1}]}'],
)
def test_a_manifest_that_is_none_is_as_good_as_missing(tmp_path: Path, written: bytes) -> None:
    (tmp_path / MANIFEST).write_bytes(written)
    assert read_manifest(tmp_path / MANIFEST) is None


def test_a_manifest_is_written_whole(tmp_path: Path) -> None:
    write_manifest(tmp_path / MANIFEST, manifest())
    assert read_manifest(tmp_path / MANIFEST) == manifest()
    assert [path.name for path in tmp_path.iterdir()] == [MANIFEST]


def test_a_fault_of_the_disk_names_the_place(tmp_path: Path) -> None:
    with pytest.raises(FolderUnusable, match="No space left"), told(tmp_path):
        raise OSError(28, "No space left on device")


def test_a_model_with_more_files_than_wanted_is_complete(shelf: Shelf) -> None:
    put(shelf.folder(MODEL), of=manifest(RECORD, FileRecord(path="more", size_bytes=1)))
    (shelf.folder(MODEL) / "more").write_bytes(b"5")
    kept = shelf.complete(MODEL, manifest())
    assert kept is not None
    assert len(kept.files) == 2
    assert shelf.complete(MODEL, manifest(FileRecord(path="other", size_bytes=1))) is None
    other = Manifest(model=MODEL.plain, revision="s", files=(RECORD,))
    assert shelf.complete(MODEL, other) is None
