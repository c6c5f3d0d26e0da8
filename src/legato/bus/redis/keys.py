"""Names of keys and channels, and which of them share a slot of a Cluster.

Every key of a stream carries the hash tag `{tenant/stream_id}`, so that one script can hold them.
Parts are percent-encoded: no two names meet, whatever they hold.
"""

from __future__ import annotations

import re
from array import array
from binascii import crc_hqx
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from itertools import count
from typing import Final
from urllib.parse import quote, unquote

from legato.bus.base import Direction, StreamKey

SLOTS: Final = 16_384
"""Of a Redis Cluster (its specification, "Key distribution model")."""


@dataclass(frozen=True, slots=True)
class StreamKeys:
    """The keys of one stream, all in one slot.

    Attributes:
        record: A hash; `create.lua` says what it holds.
        tombstone: Stands after deletion; holds no name, only a hash.
    """

    record: str
    tombstone: str

    def log(self, direction: Direction, token: str) -> str:
        """Return the key of one direction's log while `token` stands in the record."""
        return f"{self.record[:-1]}{direction.value[0]}:{token}"


class Keys:
    """Makes the names that begin with `prefix`.

    Attributes:
        jobs: Begins the keys of all jobs, which share a slot.
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self.jobs = f"{prefix}:{{jobs}}"

    def stream(self, key: StreamKey) -> StreamKeys:
        """Return the keys of a stream."""
        tag = _tag(key.tenant, key.stream_id)
        base = f"{self._prefix}:{{{tag}}}"
        neighbour = _slot_tags()[slot(tag)]
        tombstone = f"{self._prefix}:t:{{{neighbour}}}:{digest(key)}"
        return StreamKeys(f"{base}:r", tombstone)

    def epoch(self, place: int) -> str:
        """Return the key of the epoch of the server that holds the slot `place`."""
        return f"{self._prefix}:e:{{{_slot_tags()[place]}}}"

    def registry(self, tenant: str, kind: str) -> str:
        """Return the key of all records of a kind; those beside it append to it."""
        return f"{self._prefix}:k:{{{_tag(tenant, kind)}}}"

    def blob(self, tenant: str, name: str) -> str:
        """Return the key of a blob."""
        return f"{self._prefix}:b:{{{_tag(tenant, name)}}}"

    def streams_of(self, tenant: str) -> str:
        """Return the pattern (as of KEYS) of the records of a tenant's streams."""
        return f"{_literally(self._prefix)}:{{{_tag(tenant, '')}*}}:r"

    def kinds_of(self, tenant: str) -> str:
        """Return the pattern of the keys of a tenant's records."""
        return f"{_literally(self._prefix)}:k:{{{_tag(tenant, '')}*}}"

    def blobs_of(self, tenant: str) -> str:
        """Return the pattern of a tenant's blobs."""
        return f"{_literally(self._prefix)}:b:{{{_tag(tenant, '')}*}}"

    def name_in(self, key: str) -> str:
        """Return what a key of a stream, of records or of a blob says besides its tenant."""
        tag = key[len(self._prefix) :].partition("{")[2].partition("}")[0]
        return unquote(tag.partition("/")[2])

    def channel(self, token: str) -> str:
        """Return the channel of a process's connection."""
        return f"{self._prefix}:p:{{{token}}}"


def digest(key: StreamKey) -> str:
    """Return a hash that stands for a stream where its name must not."""
    return blake2b(f"{key.tenant}\0{key.stream_id}".encode(), digest_size=16).hexdigest()


def tenant_digest(tenant: str) -> str:
    """Return a hash that stands for a tenant where its name must not."""
    return blake2b(tenant.encode(), digest_size=16).hexdigest()


def slot(name: str) -> int:
    """Return the slot of a key or hash tag: CRC16/XMODEM of what `{}` holds, modulo 16384."""
    start = name.find("{")
    if start >= 0:
        end = name.find("}", start + 1)
        if end > start + 1:
            name = name[start + 1 : end]
    return crc_hqx(name.encode(), 0) % SLOTS


def warm() -> None:
    """Make the table of slots (some 60 ms), which the first stream would else wait for."""
    _slot_tags()


@cache
def _slot_tags() -> array[int]:
    """Return for each slot a number that hashes to it: a tag that tells nothing."""
    tags = array("i", [-1]) * SLOTS
    missing = SLOTS
    for number in count():
        place = crc_hqx(b"%d" % number, 0) % SLOTS
        if tags[place] < 0:
            tags[place] = number
            missing -= 1
            if not missing:
                break
    return tags


def _literally(text: str) -> str:
    """Return a pattern that matches `text` alone."""
    return re.sub(r"([*?\[\]\\^])", r"\\\1", text)


def _tag(*parts: str) -> str:
    return "/".join(quote(part, safe="") for part in parts)
