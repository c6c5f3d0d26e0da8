"""The files of the built page, as they are sent."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from types import MappingProxyType
from typing import Final

INDEX: Final = "index.html"

TYPES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "css": "text/css; charset=utf-8",
        "html": "text/html; charset=utf-8",
        "ico": "image/x-icon",
        "js": "text/javascript; charset=utf-8",
        "json": "application/json",
        "map": "application/json",
        "mjs": "text/javascript; charset=utf-8",
        "png": "image/png",
        "svg": "image/svg+xml",
        "txt": "text/plain; charset=utf-8",
        "wasm": "application/wasm",
        "wav": "audio/wav",
        "webmanifest": "application/manifest+json",
        "woff2": "font/woff2",
    }
)
"""By the name's ending. Python's own table reads the system's, which on some has scripts as plain
text: browsers do not run those."""

PACKED: Final = frozenset({"ico", "png", "wav", "woff2"})
"""Endings of what gzip does not make worth its while."""

NAMED_BY_CONTENT: Final = re.compile(r"assets/.+-[\w-]{8,}\.\w+")
"""What the build gives another name whenever its content changes."""


@dataclass(frozen=True, slots=True)
class BuiltFile:
    """One file of the page.

    Attributes:
        body: As built.
        packed: The same in gzip, if that is smaller.
        media_type: With its charset.
        etag: Of `body`, in quotes.
        is_immutable: Whether its name changes with its content.
    """

    body: bytes
    packed: bytes | None
    media_type: str
    etag: str
    is_immutable: bool

    @classmethod
    def made(cls, name: str, body: bytes) -> BuiltFile:
        """Make one from its path within the page and its content."""
        ending = name.rpartition(".")[2]
        packed = None if ending in PACKED else gzip.compress(body, mtime=0)
        return cls(
            body,
            packed if packed is not None and len(packed) < len(body) else None,
            TYPES.get(ending, "application/octet-stream"),
            f'"{sha256(body).hexdigest()[:32]}"',
            NAMED_BY_CONTENT.fullmatch(name) is not None,
        )


def built_page() -> Traversable:
    """Return the folder that the build writes."""
    return files("legato.console") / "static"


def read(folder: Traversable) -> dict[str, BuiltFile]:
    """Read all files of a page by their paths within it; none if it was not built."""
    if not (folder / INDEX).is_file():
        return {}
    return {name: BuiltFile.made(name, item.read_bytes()) for name, item in _walk(folder, "")}


def _walk(folder: Traversable, path: str) -> Iterator[tuple[str, Traversable]]:
    for item in folder.iterdir():
        name = f"{path}{item.name}"
        if item.is_dir():
            yield from _walk(item, f"{name}/")
        elif not item.name.startswith("."):
            yield name, item
