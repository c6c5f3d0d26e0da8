"""What must be true of a server before anything is entrusted to it."""

from __future__ import annotations

import re
from typing import Final

from legato.bus.redis.dialer import Refused
from legato.bus.redis.link import Reply, ReplyError
from legato.bus.redis.servers import Servers, call
from legato.telemetry.logs import logger

OLDEST: Final = (7, 0)
"""Version of Redis: the scripts need `PEXPIRETIME`, and that XTRIM and scripts behave as there."""

_VERSION: Final = re.compile(rb"redis_version:(\d+)\.(\d+)")

log = logger("legato.bus.redis")


async def check_server(servers: Servers) -> bool:
    """See that a server is new enough and evicts nothing; warn where it does not tell.

    An evicting server drops whole streams without a word (measured: `allkeys-lru`).

    Returns:
        Whether it is a node of a Cluster.

    Raises:
        BusUnavailable: With what is wrong and how to mend it.
    """
    info, config = await call(
        servers, "", ("INFO", "server", "cluster"), ("CONFIG", "GET", "maxmemory-policy")
    )
    found = _VERSION.search(info) if isinstance(info, bytes) else None
    if found is None:
        log.warning("redis does not tell its version", reason=_reason(info))
    elif (version := (int(found[1]), int(found[2]))) < OLDEST:
        raise Refused(
            f"Redis {version[0]}.{version[1]} is too old: the bus needs {OLDEST[0]}.{OLDEST[1]}"
            " or later"
        )
    match config:
        case [_, b"noeviction"]:
            pass
        case [_, bytes(policy)]:
            raise Refused(
                f"Redis may evict keys (maxmemory-policy is {policy.decode()}), which would lose"
                " streams without a word; set maxmemory-policy to noeviction"
            )
        case _:
            log.warning(
                "redis does not tell its maxmemory-policy; it must be noeviction",
                reason=_reason(config),
            )
    return isinstance(info, bytes) and b"cluster_enabled:1" in info


def _reason(reply: Reply) -> str:
    return str(reply) if isinstance(reply, ReplyError) else "not told"
