"""Names of models: `hub:owner/name`, with `@revision` if it is not the hub's default."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Final

from legato.engines.models.faults import BadModelName

_PART: Final = r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}"
_NAME: Final = re.compile(
    rf"(?P<hub>[a-z]+):(?P<owner>{_PART})/(?P<name>{_PART})(?:@(?P<revision>[\w.][\w./-]{{0,99}}))?"
)
MAX_PATH_CHARS: Final = 512


class Hub(StrEnum):
    """Where models are published."""

    MODELSCOPE = "modelscope"
    HUGGINGFACE = "huggingface"

    @property
    def main(self) -> str:
        """Revision for those who name none."""
        return "main" if self is Hub.HUGGINGFACE else "master"


@dataclass(frozen=True, slots=True)
class ModelName:
    """A model on a hub.

    Attributes:
        hub: Which.
        owner: Of the repository.
        name: Of the repository.
        revision: Branch, tag or commit; "" for the hub's default.
    """

    hub: Hub
    owner: str
    name: str
    revision: str = ""

    @property
    def repository(self) -> str:
        """Owner and name as the hub has them."""
        return f"{self.owner}/{self.name}"

    @property
    def plain(self) -> str:
        """`hub:owner/name`: what the folder keeps one revision of."""
        return f"{self.hub}:{self.repository}"

    @property
    def asked(self) -> str:
        """The revision to ask for."""
        return self.revision or self.hub.main

    def __str__(self) -> str:
        return f"{self.plain}@{self.revision}" if self.revision else self.plain


def parse(text: str) -> ModelName:
    """Read `hub:owner/name[@revision]`.

    Raises:
        BadModelName: If it is none, or the hub is not known.
    """
    match = _NAME.fullmatch(text)
    if match is None or ".." in text:
        raise BadModelName(
            f"{text!r} is no model: name one of `legato models list --known`, or hub:owner/name"
        )
    if match["hub"] not in set(Hub):
        raise BadModelName(f"{match['hub']} is no hub; there are {', '.join(Hub)}")
    return ModelName(Hub(match["hub"]), match["owner"], match["name"], match["revision"] or "")


def is_safe(path: str) -> bool:
    """Whether a path that a hub names stays inside the model's folder on every system."""
    parts = PurePosixPath(path).parts
    return (
        0 < len(path) <= MAX_PATH_CHARS
        and not path.startswith("/")
        and path == "/".join(parts)
        and not {"..", "."} & set(parts)
        and path.isprintable()
        and not set('\\:*?"<>|') & set(path)
    )
