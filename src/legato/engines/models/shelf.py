"""The folder of models on this machine: what is there, whole or partly.

`<hub>/<owner>/<name>` is a whole model, `.partial/<hub>/<owner>/<name>` one on its way, `.locks`
keeps two processes from working on the same one.
"""

from __future__ import annotations

import contextlib
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from legato.engines.models.faults import BadModelName, FolderUnusable, ModelBusy, NotPulled
from legato.engines.models.names import Hub, ModelName, is_safe, parse
from legato.engines.models.records import FileRecord, Manifest, Verdict, check, look

MANIFEST: Final = ".legato-model.json"
PARTIAL: Final = ".partial"
LOCKS: Final = ".locks"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A model in the folder.

    Attributes:
        model: Which.
        path: Of its folder, or of what is there of it.
        is_whole: Whether it can be used.
        is_updating: Whether a part of another pull is there beside the whole.
        size_bytes: On the disk.
        wanted_bytes: When whole; None if that is not known.
        revision: Of the hub, or "".
        licence: As the hub told it, or "".
    """

    model: ModelName
    path: Path
    is_whole: bool
    is_updating: bool
    size_bytes: int
    wanted_bytes: int | None
    revision: str
    licence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What was removed.

    Attributes:
        model: Which.
        paths: Folders that are gone.
        files: How many.
        size_bytes: Together.
    """

    model: ModelName
    paths: tuple[Path, ...]
    files: int
    size_bytes: int


class Shelf:
    """A folder of models.

    Args:
        root: Where; made when something is put there.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def folder(self, model: ModelName) -> Path:
        """Return where a whole model is, or would be."""
        return self.root / model.hub / model.owner / model.name

    def partial(self, model: ModelName) -> Path:
        """Return where it grows."""
        return self.root / PARTIAL / model.hub / model.owner / model.name

    def manifest(self, model: ModelName) -> Manifest | None:
        """Return what a whole model consists of; None if it is not there."""
        return read_manifest(self.folder(model) / MANIFEST)

    def entries(self) -> list[Entry]:
        """Return what is there, in the order of names.

        Raises:
            FolderUnusable: If the folder cannot be read.
        """
        with told(self.root):
            found = {
                model.plain: model
                for base in (self.root, self.root / PARTIAL)
                for hub in Hub
                for folder in sorted((base / hub).glob("*/*"))
                if (model := _model_of(hub, folder)) is not None
            }
            entries = (self.entry(found[plain]) for plain in sorted(found))
            return [entry for entry in entries if entry is not None]

    def entry(self, model: ModelName) -> Entry | None:
        """Return what is there of a model; None if nothing is."""
        whole, growing = self.manifest(model), self.partial(model)
        manifest = whole or read_manifest(growing / MANIFEST)
        if manifest is None and not growing.is_dir():
            return None
        path = self.folder(model) if whole else growing
        return Entry(
            model=model,
            path=path,
            is_whole=whole is not None,
            is_updating=whole is not None and growing.is_dir(),
            size_bytes=_weight(path)[1],
            wanted_bytes=manifest.size_bytes if manifest else None,
            revision=manifest.revision if manifest else "",
            licence=manifest.licence if manifest else "",
        )

    def verify(
        self, model: ModelName, stop: threading.Event, report: Callable[[int], None]
    ) -> list[tuple[FileRecord, Verdict]]:
        """Compare every file of a whole model with what its hub told; blocks.

        Raises:
            NotPulled: If it is not there.
            FolderUnusable: If a file cannot be read.
            Stopped: If `stop` was set meanwhile.
        """
        manifest = self.manifest(model)
        if manifest is None:
            raise NotPulled(f"{model.plain} is not there; `legato models pull {model.plain}`")
        found = []
        with told(self.folder(model)):
            for record in manifest.files:
                found.append((record, check(self.folder(model) / record.path, record, stop)))
                report(record.size_bytes)
        return found

    def complete(self, model: ModelName, manifest: Manifest) -> Manifest | None:
        """Return what is there if all of `manifest` is, by record and size; more is no harm."""
        folder, kept = self.folder(model), self.manifest(model)
        if kept is None or kept.revision != manifest.revision:
            return None
        if not set(manifest.files) <= set(kept.files):
            return None
        whole = all(look(folder / record.path, record).is_good for record in kept.files)
        return kept if whole else None

    def remove(self, model: ModelName) -> Receipt:
        """Remove a model, whole or partial.

        Raises:
            NotPulled: If nothing of it is there.
            ModelBusy: If another process works on it.
            FolderUnusable: If it cannot be removed.
        """
        if self.entry(model) is None:
            raise NotPulled(f"{model.plain} is not there; `legato models list` shows what is")
        with self.lock(model), told(self.root):
            paths = [p for p in (self.folder(model), self.partial(model)) if p.is_dir()]
            weights = [_weight(path) for path in paths]
            for path in paths:
                shutil.rmtree(path)
                for parent in (path.parent, path.parent.parent):
                    with contextlib.suppress(OSError):  # others are in it
                        parent.rmdir()
        files, size_bytes = (sum(column) for column in zip(*weights, strict=True))
        return Receipt(model=model, paths=tuple(paths), files=files, size_bytes=size_bytes)

    @contextlib.contextmanager
    def lock(self, model: ModelName) -> Iterator[None]:
        """Keep other processes from working on a model; a dead one's lock is gone with it.

        Raises:
            ModelBusy: If another process has it.
            FolderUnusable: If the folder cannot be written.
        """
        import fcntl  # not on Windows, where there is no worker either

        path = self.root / LOCKS / f"{model.hub}--{model.owner}--{model.name}"
        with told(self.root):
            path.parent.mkdir(parents=True, exist_ok=True)
            file = path.open("ab")
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise ModelBusy(f"another process is working on {model.plain}") from error
            yield


@contextlib.contextmanager
def told(folder: Path) -> Iterator[None]:
    """Say which folder it is that cannot be used.

    Raises:
        FolderUnusable: If the block fails at a file.
    """
    try:
        yield
    except OSError as error:
        place = error.filename or folder
        raise FolderUnusable(f"{place} cannot be used: {error.strerror or error}") from error


def read_manifest(path: Path) -> Manifest | None:
    """Read a manifest that we wrote; None if there is none, or it is of no use."""
    try:
        manifest = msgspec.json.decode(path.read_bytes(), type=Manifest)
    except (OSError, msgspec.DecodeError):
        return None
    return manifest if all(is_safe(file.path) for file in manifest.files) else None


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Write a manifest whole or not at all."""
    unready = path.with_name(f"{path.name}.unready")
    unready.write_bytes(msgspec.json.encode(manifest))
    unready.replace(path)


def _model_of(hub: Hub, folder: Path) -> ModelName | None:
    try:
        return parse(f"{hub}:{folder.parent.name}/{folder.name}")
    except BadModelName:  # something that somebody put there
        return None


def _weight(folder: Path) -> tuple[int, int]:
    """Return the number of files below a folder, and their bytes."""
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    return len(sizes), sum(sizes)
