"""The two hubs: how each lists a model's files, and where it gives them.

Routes as both hubs' own clients and other programs use them: Hugging Face
`/api/models/{id}/revision/{revision}?blobs=true` and `/{id}/resolve/{revision}/{path}`, ModelScope
`/api/v1/models/{id}/repo/files` and `/api/v1/models/{id}/repo?FilePath=`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final, Protocol
from urllib.parse import quote, urlencode, urlsplit

from legato.engines.models.config import ModelsConfig
from legato.engines.models.faults import HubBroken
from legato.engines.models.names import Hub, ModelName, is_safe
from legato.engines.models.records import FileRecord, Manifest
from legato.engines.models.shelf import MANIFEST
from legato.engines.models.transport import Transport

MAX_FILES: Final = 20_000
MAX_FILE_BYTES: Final = 1 << 50
MAX_SAID_CHARS: Final = 200
"""Of what a hub says and we pass on."""

_UNUSABLE: Final = (KeyError, TypeError, ValueError, AttributeError, OverflowError)


class HubPort(Protocol):
    """A hub as a pull sees it."""

    @property
    def headers(self) -> Mapping[str, str]:
        """With the token, if there is one."""

    def listing(self, model: ModelName, transport: Transport) -> Manifest:
        """Return all files of the revision that is asked for.

        Raises:
            LegatoError: As `Transport.read_json` does, or if the answer cannot be used.
        """

    def address(self, model: ModelName, revision: str, path: str) -> str:
        """Return where a file is."""


@dataclass(frozen=True, slots=True)
class HuggingFace:
    """Hugging Face, or a mirror of it.

    Attributes:
        base: Address.
        headers: With the token, if there is one.
    """

    base: str
    headers: Mapping[str, str]

    def listing(self, model: ModelName, transport: Transport) -> Manifest:
        revision = quote(model.asked, safe="")
        url = f"{self.base}/api/models/{model.repository}/revision/{revision}?blobs=true"
        told = transport.read_json(url, self.headers)
        try:
            files = [_huggingface_file(one) for one in told["siblings"]]
            commit, card = str(told["sha"]), told.get("cardData") or {}
            licence = str(card.get("license") or "")
        except _UNUSABLE as error:
            raise HubBroken(f"{url} is no listing of a model") from error
        return _manifest(model, commit, files, licence=licence)

    def address(self, model: ModelName, revision: str, path: str) -> str:
        return f"{self.base}/{model.repository}/resolve/{quote(revision, safe='')}/{quote(path)}"


@dataclass(frozen=True, slots=True)
class ModelScope:
    """ModelScope, or a mirror of it.

    Attributes:
        base: Address.
        headers: With the token, if there is one.
    """

    base: str
    headers: Mapping[str, str]

    def listing(self, model: ModelName, transport: Transport) -> Manifest:
        asked = urlencode({"Revision": model.asked, "Recursive": "True"})
        url = f"{self.base}/api/v1/models/{model.repository}/repo/files?{asked}"
        told = transport.read_json(url, self.headers)
        try:
            listed = told["Data"]["Files"]
            files = [_modelscope_file(one) for one in listed if one["Type"] != "tree"]
        except _UNUSABLE as error:
            said = told.get("Message") if isinstance(told, dict) else None
            because = f": {_printable(said)}" if isinstance(said, str) and said else ""
            raise HubBroken(f"{url} is no listing of a model{because}") from error
        return _manifest(model, model.asked, files)

    def address(self, model: ModelName, revision: str, path: str) -> str:
        asked = urlencode({"Revision": revision, "FilePath": path})
        return f"{self.base}/api/v1/models/{model.repository}/repo?{asked}"


def hub_of(hub: Hub, config: ModelsConfig) -> HubPort:
    """Return a hub with the address and token that are set.

    Raises:
        HubBroken: If the address is none of HTTP.
    """
    if hub is Hub.HUGGINGFACE:
        base, key = config.huggingface, config.huggingface_key
        bearer = {"Authorization": f"Bearer {key}"} if key else {}
        return HuggingFace(_base(hub, base), bearer)
    base, key = config.modelscope, config.modelscope_key
    return ModelScope(_base(hub, base), {"Cookie": f"m_session_id={key}"} if key else {})


def _base(hub: Hub, address: str) -> str:
    parts = urlsplit(address)
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise HubBroken(f"models.{hub} must be an address such as https://host, not {address!r}")
    return address.rstrip("/")


def _huggingface_file(told: Mapping[str, Any]) -> FileRecord:
    lfs = told.get("lfs") or {}
    return FileRecord(
        path=str(told["rfilename"]),
        size_bytes=int(lfs["size"] if lfs else told["size"]),
        sha256=str(lfs.get("sha256") or ""),
        blob_sha1="" if lfs else str(told.get("blobId") or ""),  # of a pointer, if it is in LFS
    )


def _modelscope_file(told: Mapping[str, Any]) -> FileRecord:
    return FileRecord(
        path=str(told["Path"]),
        size_bytes=int(told["Size"]),
        sha256=str(told.get("Sha256") or ""),
    )


def _manifest(
    model: ModelName, revision: str, files: list[FileRecord], *, licence: str = ""
) -> Manifest:
    unsafe = [file.path for file in files if not is_safe(file.path)]
    if unsafe:
        raise HubBroken(f"{model} has a file that leads out of its folder: {unsafe[0]!r}")
    fits = all(0 <= file.size_bytes <= MAX_FILE_BYTES for file in files)
    if not files or len(files) > MAX_FILES or not fits:
        raise HubBroken(f"{model}: the hub lists {len(files)} files, which cannot be right")
    if not all((file.sha256 + file.blob_sha1).isascii() for file in files):
        raise HubBroken(f"{model}: the hub lists a checksum that is none")
    if not (revision.isprintable() and 0 < len(revision) <= MAX_SAID_CHARS):
        raise HubBroken(f"{model}: the hub's revision cannot be right")
    _check_names(model, files)
    licence = _printable(licence)
    ordered = tuple(sorted(files, key=lambda file: file.path))
    return Manifest(model=model.plain, revision=revision, files=ordered, licence=licence)


def _check_names(model: ModelName, files: list[FileRecord]) -> None:
    paths = {file.path for file in files}
    if len(paths) < len(files):
        raise HubBroken(f"{model}: the hub lists a file twice")
    folders = {parent.as_posix() for path in paths for parent in PurePosixPath(path).parents}
    if clash := paths & folders:
        raise HubBroken(f"{model}: the hub lists {min(clash)!r} as a file and as a folder")
    if taken := [path for path in paths if path.partition("/")[0].startswith(MANIFEST)]:
        raise HubBroken(f"{model} has a file with the name of our own record: {taken[0]!r}")


def _printable(text: str) -> str:
    """Return what a terminal shows and a file takes of a text, and not too much of it."""
    return "".join(char for char in text[:MAX_SAID_CHARS] if char.isprintable())
