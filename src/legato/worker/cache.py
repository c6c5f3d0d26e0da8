"""Speech that was made before: the same prompt is not spoken twice."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import replace
from typing import Final

import msgspec

from legato.bus.forgetting import owner_of
from legato.engines.base import EngineInfo
from legato.speech import SynthesisRequest
from legato.telemetry.metrics import CACHED_BYTES, CACHED_SPEECH

MOST_BYTES: Final = 2 << 20
"""Longest piece that is kept: 43 s at 24 kHz mono."""

ENTRY_BYTES: Final = 512
"""Counted for each piece beside its samples."""

Key = tuple[str, bytes]
"""Whose it is, and a digest of all that decides the samples: no text is kept."""

_encoder: Final = msgspec.msgpack.Encoder(order="deterministic")


class SpeechCache:
    """Keeps what was spoken in memory, the least recently used goes first.

    Nothing is shared between tenants.

    Args:
        size_bytes: Bound of all that is kept; 0 keeps nothing.
        barred: Tenants of whom nothing is kept.

    Attributes:
        used_bytes: What is kept.
        wipes: Times that something was forgotten.
    """

    def __init__(self, size_bytes: int, *, barred: Collection[str] = ()) -> None:
        self.used_bytes = 0
        self.wipes = 0
        self._size_bytes = size_bytes
        self._most_bytes = min(MOST_BYTES, size_bytes // 4)
        self._barred = frozenset(barred)
        self._kept: OrderedDict[Key, bytes] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def is_on(self) -> bool:
        """Whether anything is kept at all."""
        return self._size_bytes > 0

    def recording(
        self, tenant: str, info: EngineInfo | None, request: SynthesisRequest, text: str
    ) -> Recording | None:
        """Begin to keep a piece of speech; None if none of its kind is kept.

        An engine without a format of its own makes tones, as quickly as they are found here.
        """
        if not self.is_on or tenant in self._barred or info is None or info.format is None:
            return None
        prompt = request.prompt
        if prompt is not None and not prompt.digest:
            return None
        said = (info.name, info.version, prompt and prompt.digest, text)
        digest = hashlib.sha256(_encoder.encode((said, replace(request, prompt=None)))).digest()
        return Recording(self, (owner_of(tenant), digest), self._most_bytes)

    def find(self, key: Key) -> bytes | None:
        """Return the samples, if they are there."""
        pcm = self._kept.get(key)
        CACHED_SPEECH.labels("miss" if pcm is None else "hit").inc()
        if pcm is not None:
            self._kept.move_to_end(key)
        return pcm

    def keep(self, key: Key, pcm: bytes) -> None:
        """Keep the samples, and let older ones go for them."""
        self._drop(key)
        self._kept[key] = pcm
        self._count(len(pcm) + ENTRY_BYTES)
        while self.used_bytes > self._size_bytes:
            self._drop(next(iter(self._kept)))

    def forget(self, owner: str) -> None:
        """Drop all of one tenant, as `owner_of` calls it, and what is being recorded."""
        self.wipes += 1
        for key in [key for key in self._kept if key[0] == owner]:
            self._drop(key)

    def clear(self) -> None:
        """Drop all."""
        self.wipes += 1
        self._kept.clear()
        self._count(-self.used_bytes)

    def _drop(self, key: Key) -> None:
        pcm = self._kept.pop(key, None)
        if pcm is not None:
            self._count(-len(pcm) - ENTRY_BYTES)

    def _count(self, size_bytes: int) -> None:
        self.used_bytes += size_bytes
        CACHED_BYTES.inc(size_bytes)


class Recording:
    """One piece of speech on its way into the cache, or out of it.

    Args:
        cache: Where it goes.
        key: Of the piece.
        most_bytes: Of samples; one that is longer is not kept.
    """

    def __init__(self, cache: SpeechCache, key: Key, most_bytes: int) -> None:
        self._cache = cache
        self._key = key
        self._most_bytes = most_bytes
        self._wipes = cache.wipes
        self._pcm: bytearray | None = bytearray()

    def found(self) -> bytes | None:
        """Return the samples, if they are there already."""
        return self._cache.find(self._key)

    def add(self, pcm: bytes) -> None:
        """Take in what was spoken."""
        if self._pcm is not None and len(self._pcm) + len(pcm) <= self._most_bytes:
            self._pcm += pcm
        else:
            self._pcm = None

    def keep(self) -> None:
        """Keep it: it is whole, and nothing was to be forgotten meanwhile."""
        if self._pcm and self._wipes == self._cache.wipes:
            self._cache.keep(self._key, bytes(self._pcm))
