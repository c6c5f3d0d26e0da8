"""The file of golden messages: bytes as some version wrote them, and what they mean."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

import legato
from tests.vectors.golden.kinds import KINDS, meaning

PATH: Final = Path(__file__).parent / "recorded.json"


class Golden(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One of them.

    Attributes:
        kind: Of `KINDS`.
        name: Of the sample.
        since: Version of Legato that wrote it first.
        text: Itself, if it is text.
        hex: Itself, if it is not.
        meaning: What it says, with all fields that its version knew.
    """

    kind: str
    name: str
    since: str
    text: str | None = None
    hex: str | None = None
    meaning: Any

    @property
    def data(self) -> str | bytes:
        """Itself as it was written."""
        if self.kind in {"client", "server"}:
            return self.text or ""
        return bytes.fromhex(self.hex or "") if self.text is None else self.text.encode()


def load(path: Path = PATH) -> list[Golden]:
    """Read all that are recorded."""
    return msgspec.json.decode(path.read_bytes(), type=list[Golden]) if path.exists() else []


def save(goldens: Iterable[Golden], path: Path = PATH) -> None:
    """Write all of them, one a line."""
    lines = ",\n".join(
        json.dumps(msgspec.to_builtins(golden), ensure_ascii=False) for golden in goldens
    )
    path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def written() -> list[Golden]:
    """Return every sample as this version writes it."""
    return [
        golden_of(kind, name, sample)
        for kind, how in KINDS.items()
        for name, sample in how.samples()
    ]


def golden_of(kind: str, name: str, sample: object) -> Golden:
    """Return one sample as this version writes and understands it."""
    data = KINDS[kind].write(sample)
    said = meaning(KINDS[kind].read(data))
    text, raw = _told(data)
    since = legato.__version__
    return Golden(kind=kind, name=name, since=since, text=text, hex=raw, meaning=said)


def additions(recorded: Sequence[Golden]) -> list[Golden]:
    """Return what this version writes otherwise than any that is recorded."""
    known = {(golden.kind, golden.name, golden.data) for golden in recorded}
    return [one for one in written() if (one.kind, one.name, one.data) not in known]


def _told(data: str | bytes) -> tuple[str | None, str | None]:
    if isinstance(data, str):
        return data, None
    if data[:1] in (b"{", b"["):  # JSON
        return data.decode(), None
    return None, data.hex()
