"""Leases extended together: one script for all that a worker renews in one turn of its loop."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Final

from legato.bus.base import Claim
from legato.bus.redis.call import Call, Outcome
from legato.bus.redis.faults import translate
from legato.bus.redis.keys import digest
from legato.bus.redis.link import ReplyError
from legato.bus.redis.scripts import RENEW
from legato.bus.redis.servers import Servers
from legato.errors import LegatoError

MOST: Final = 64
"""Leases of one script, so that it does not hold up the server."""

Asked = tuple[Claim, "asyncio.Future[bool]"]


class Renewals:
    """Gathers what is to be renewed; used within one event loop.

    Args:
        servers: Where the jobs are.
        base: Begins the keys of all jobs.
    """

    def __init__(self, servers: Servers, base: str) -> None:
        self._servers = servers
        self._base = base
        self._due: dict[tuple[int, int], list[Asked]] = {}

    async def renew(self, claim: Claim, *, lease_ms: int, keep_ms: int) -> bool:
        """Extend a lease; result and errors are those of the port's `Jobs.renew`.

        Args:
            claim: Whose.
            lease_ms: How long from now.
            keep_ms: How long the job is kept.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[bool] = loop.create_future()
        if not self._due:
            loop.call_soon(self._send)
        self._due.setdefault((lease_ms, keep_ms), []).append((claim, future))
        return await future

    def _send(self) -> None:
        due, self._due = self._due, {}
        for (lease_ms, keep_ms), asked in due.items():
            for at in range(0, len(asked), MOST):
                self._ask(asked[at : at + MOST], lease_ms, keep_ms)

    def _ask(self, asked: Sequence[Asked], lease_ms: int, keep_ms: int) -> None:
        keys = [f"{self._base}:h"]
        names: list[str | int] = []
        for claim, _ in asked:
            name = digest(claim.job.key)
            keys += (f"{self._base}:j:{name}", f"{self._base}:q:{claim.job.engine}")
            names += (name, claim.fence)
        command = RENEW(keys, lease_ms, keep_ms, *names)
        self._servers.submit(Call(self._base, [command], partial(_answer, asked)))


def _answer(asked: Sequence[Asked], outcome: Outcome) -> None:
    reply = outcome if isinstance(outcome, LegatoError) else outcome[0]
    error = translate(reply) if isinstance(reply, ReplyError) else reply
    for at, (_, future) in enumerate(asked):
        if future.done():
            continue
        if isinstance(error, LegatoError):
            future.set_exception(type(error)(error.message))
        else:
            future.set_result(isinstance(reply, list) and reply[at] == 1)
