"""What the server's errors mean: try again, give way, or tell the caller."""

from __future__ import annotations

from typing import Final

from legato.bus.redis.link import ReplyError
from legato.errors import BusUnavailable, Internal, LegatoError, Overloaded

TRANSIENT: Final = frozenset(
    {
        "BUSY",
        "CLUSTERDOWN",
        "LOADING",
        "MASTERDOWN",
        "MISCONF",
        "NOREPLICAS",
        "READONLY",
        "TRYAGAIN",
    }
)
"""The same command may be carried out a moment later. `MISCONF`: the disk is full and the server
refuses writes; `READONLY`: a failover is on its way."""

ELSEWHERE: Final = frozenset({"READONLY", "MASTERDOWN"})
"""The server of this connection is no master any more; its address may lead to another by now."""

REDIRECTIONS: Final = frozenset({"ASK", "MOVED"})
"""The slot is on another node of the Cluster."""

REFUSALS: Final = frozenset({"DENIED", "NOAUTH", "NOPERM", "WRONGPASS"})
"""The user may not do this; trying again is no use."""


def word(error: ReplyError) -> str:
    """Return the word that names an error."""
    return str(error).partition(" ")[0]


def is_oom(error: ReplyError) -> bool:
    """Whether the server is out of memory and takes no more (it evicts nothing: `noeviction`)."""
    return word(error) == "OOM"


def translate(error: ReplyError) -> LegatoError:
    """Return the error to raise for what the server said."""
    name = word(error)
    if name == "OOM":
        return Overloaded("Redis is out of memory (maxmemory) and takes no more")
    if name in TRANSIENT or name in REDIRECTIONS or name in REFUSALS:
        return BusUnavailable(f"Redis says: {error}")
    # Where a command was wrong it may quote what the command carried.
    return Internal(f"Redis says: {str(error).partition(', with args')[0]}")
