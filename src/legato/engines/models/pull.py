"""A model fetched from its hub: several files at a time, in place only when all are whole."""

from __future__ import annotations

import hashlib
import queue
import shutil
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from legato.engines.models.catalogue import KnownModel, wanted
from legato.engines.models.config import ModelsConfig
from legato.engines.models.download import MAX_RETRY_AFTER, Download, profile, reuse
from legato.engines.models.faults import (
    Hiccup,
    HubRefused,
    HubUnreachable,
    ModelNotFound,
    NoSpace,
    Stopped,
)
from legato.engines.models.hubs import HubPort, hub_of
from legato.engines.models.names import ModelName
from legato.engines.models.records import FileRecord, Manifest, look
from legato.engines.models.shelf import (
    MANIFEST,
    Shelf,
    read_manifest,
    told,
    write_manifest,
)
from legato.engines.models.transport import Transport
from legato.errors import ConnectionLost
from legato.flow.backoff import Backoff, Generator

SPARE_BYTES: Final = 64 << 20
"""Left free on the disk."""

LEAVE_TIMEOUT: Final = 2.0
"""Seconds that the threads have to end after they were asked to; they keep nothing that counts."""


class Watcher(Protocol):
    """Is told how far a pull is; called in any thread."""

    def listed(self, manifest: Manifest) -> None:
        """Take what is to be fetched."""

    def moved(self, size_bytes: int) -> None:
        """Take bytes that are there; negative where some must be fetched anew."""

    def done(self, record: FileRecord) -> None:
        """Take a file that is whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulled:
    """What a pull did.

    Attributes:
        manifest: Of the model.
        path: Where it is.
        fetched_bytes: That came over the network.
        was_there: Whether nothing had to be done.
    """

    manifest: Manifest
    path: Path
    fetched_bytes: int
    was_there: bool


@dataclass(slots=True, kw_only=True)
class Pull:
    """One model on its way.

    Attributes:
        model: Which.
        known: What the catalogue says of it; None takes all files.
        shelf: Where it goes.
        config: Of hubs.
        rng: Source of jitter.
        watcher: Told how far it is.
        again: Look at every byte of what is there, and fetch what is wrong.
        stop: Set to end it soon; what came is kept.
    """

    model: ModelName
    known: KnownModel | None
    shelf: Shelf
    config: ModelsConfig
    rng: Generator
    watcher: Watcher
    again: bool = False
    stop: threading.Event = field(default_factory=threading.Event)

    def run(self) -> Pulled:
        """Fetch the model; blocks.

        Raises:
            Stopped: If it was asked to stop.
            LegatoError: If it cannot be had; what came is kept.
        """
        hub, transport = hub_of(self.model.hub, self.config), Transport(self.config.timeout)
        with self.shelf.lock(self.model):
            manifest = self._listing(hub, transport)
            self.watcher.listed(manifest)
            folder = self.shelf.folder(self.model)
            kept = None if self.again else self.shelf.complete(self.model, manifest)
            if kept is not None:
                return Pulled(manifest=kept, path=folder, fetched_bytes=0, was_there=True)
            with told(self.shelf.root):
                missing = self._prepare(manifest)
                self._check_space(missing)
                downloads = [self._download(one, hub, manifest, transport) for one in missing]
                self._fetch(downloads)
                self._put_in_place(manifest)
        received = sum(download.received for download in downloads)
        return Pulled(manifest=manifest, path=folder, fetched_bytes=received, was_there=False)

    def _listing(self, hub: HubPort, transport: Transport) -> Manifest:
        backoff = Backoff(self.rng, profile(min(self.config.tries, 3)))
        while True:
            try:
                listed = hub.listing(self.model, transport)
                break
            except Hiccup as error:
                self._pause(backoff, error)
            except ModelNotFound as error:
                raise ModelNotFound(f"{self.model} is not on the hub: {error}") from error
            except HubRefused as error:
                raise HubRefused(
                    f"{self.model} is not shown to us ({error}): it does not exist, is private or"
                    " gated; look at its page, accept its licence there, and set"
                    f" models.{self.model.hub}_key"
                ) from error
        return Manifest(
            model=listed.model,
            revision=listed.revision,
            files=wanted(listed.files, self.known),
            licence=listed.licence or (self.known.licence if self.known else ""),
        )

    def _pause(self, backoff: Backoff, error: Hiccup) -> None:
        try:
            delay = backoff.next_delay(time.monotonic(), error.retry_after)
        except ConnectionLost:
            delay = None
        if delay is None or delay > MAX_RETRY_AFTER:
            raise HubUnreachable(
                f"{error}: without the hub nothing can be fetched; models that are here already"
                " need no network (`legato models list`). A proxy is taken from HTTPS_PROXY, a"
                f" mirror from models.{self.model.hub}"
            ) from error
        if self.stop.wait(delay):
            raise Stopped

    def _prepare(self, manifest: Manifest) -> list[FileRecord]:
        """Make the folder that it grows in; return the files that must be fetched, large first."""
        files = self._files
        files.mkdir(parents=True, exist_ok=True)
        before = read_manifest(self._growing / MANIFEST)
        # A file is put here when it was found whole, so its record is all that can have changed.
        same = set(before.files) & set(manifest.files) if before else set()
        here = {record.path for record in same if look(files / record.path, record).is_good}
        for path in [path for path in files.rglob("*") if path.is_file()]:
            if path.relative_to(files).as_posix() not in here:
                path.unlink()
        write_manifest(self._growing / MANIFEST, manifest)
        missing = [
            record
            for record in manifest.files
            if not self._has(record, is_here=record.path in here)
        ]
        return sorted(missing, key=lambda record: -record.size_bytes)

    def _has(self, record: FileRecord, *, is_here: bool) -> bool:
        old = self.shelf.folder(self.model) / record.path
        if is_here or reuse(old, record, self._files / record.path, self.stop):
            self.watcher.moved(record.size_bytes)
            self.watcher.done(record)
            return True
        return False

    def _check_space(self, missing: Sequence[FileRecord]) -> None:
        parts = self._growing / "parts"
        kept = sum(path.stat().st_size for path in parts.glob("*.part"))
        needed = sum(record.size_bytes for record in missing) - kept
        free = shutil.disk_usage(self.shelf.root).free
        if needed > 0 and needed + SPARE_BYTES > free:
            raise NoSpace(
                f"{self.model.plain} needs {needed >> 20} MiB more, and {self.shelf.root} has"
                f" {free >> 20} MiB free (of which {SPARE_BYTES >> 20} are left alone)"
            )

    def _download(
        self, record: FileRecord, hub: HubPort, manifest: Manifest, transport: Transport
    ) -> Download:
        return Download(
            record=record,
            url=hub.address(self.model, manifest.revision, record.path),
            headers=hub.headers,
            target=self._files / record.path,
            part=self._part(record),
            transport=transport,
            tries=self.config.tries,
            rng=self.rng,
            stop=self.stop,
            report=self.watcher.moved,
        )

    def _fetch(self, downloads: Sequence[Download]) -> None:
        """Run downloads in a few threads; the first that fails stops the others."""
        todo: queue.SimpleQueue[Download] = queue.SimpleQueue()
        for download in downloads:
            todo.put(download)
        failed: list[BaseException] = []
        threads = [
            threading.Thread(
                target=self._work, args=(todo, failed), name="legato-pull", daemon=True
            )
            for _ in range(min(self.config.parallel, len(downloads)))
        ]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads) and not self.stop.is_set():
            self.stop.wait(0.05)
        deadline = time.monotonic() + LEAVE_TIMEOUT
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()) if self.stop.is_set() else None)
        if failed:
            raise failed[0]
        if self.stop.is_set():
            raise Stopped

    def _work(self, todo: queue.SimpleQueue[Download], failed: list[BaseException]) -> None:
        while not self.stop.is_set():
            try:
                download = todo.get_nowait()
            except queue.Empty:
                return
            try:
                download.run()
            except Stopped:
                return
            except Exception as error:  # noqa: BLE001  top of a thread; raised where it is waited for
                failed.append(error)
                self.stop.set()
                return
            self.watcher.done(download.record)

    def _put_in_place(self, manifest: Manifest) -> None:
        folder, growing, files = self.shelf.folder(self.model), self._growing, self._files
        write_manifest(files / MANIFEST, manifest)
        folder.parent.mkdir(parents=True, exist_ok=True)
        if folder.exists():
            shutil.rmtree(growing / "old", ignore_errors=True)
            folder.rename(growing / "old")
        files.rename(folder)
        shutil.rmtree(growing)

    @property
    def _growing(self) -> Path:
        return self.shelf.partial(self.model)

    @property
    def _files(self) -> Path:
        return self._growing / "files"

    def _part(self, record: FileRecord) -> Path:
        name = hashlib.sha256(record.path.encode()).hexdigest()[:32]
        return self._growing / "parts" / f"{name}.part"
