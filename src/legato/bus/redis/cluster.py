"""A Redis Cluster: every key is asked of the node that holds its slot, wherever that moves."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Collection
from functools import lru_cache
from random import Random
from typing import Final

from legato.bus.redis.call import Call, Outcome, Unknown
from legato.bus.redis.config import RedisConfig
from legato.bus.redis.dialer import Dialer
from legato.bus.redis.keys import SLOTS, slot
from legato.bus.redis.link import ReplyError
from legato.bus.redis.node import HOLD, Node

MAP_EVERY: Final = 0.5
"""Seconds between looks at who holds which slot, while anything is amiss."""

EAGER: Final = 3
"""Times that a call follows redirections at once; then it waits a little each time."""

Address = tuple[str, int]


class Cluster:
    """Fills `Servers`. Masters only; sharded channels (Redis 7.0), so that pushes stay on a node.

    Args:
        config: The address of any node, and times.
        rng: Chooses nodes and pauses.
    """

    publish = "SPUBLISH"
    subscribe = "SSUBSCRIBE"

    def __init__(self, config: RedisConfig, rng: Random) -> None:
        self._loop = asyncio.get_running_loop()
        self._config = config
        self._rng = rng
        dialer = Dialer(config.url, timeout=config.attempt)
        self._host = dialer.address.rpartition(":")[0]
        self._seed = self._make(dialer)
        self._nodes: dict[Address, Node] = {}
        self._dialers: dict[Address, Dialer] = {}
        self._owners: list[Address | None] = [None] * SLOTS
        self._places: dict[Address, int] = {}
        self._mapping: asyncio.TimerHandle | None = None
        self._retired: set[asyncio.Task[None]] = set()
        self._mapped = asyncio.Event()
        self._closed = False
        self._ask_for_map()

    async def ready(self) -> None:
        """Wait until it is known who holds the slots."""
        await self._mapped.wait()

    @property
    def is_idle(self) -> bool:
        return all(node.is_idle for node in self._all())

    @property
    def places(self) -> Collection[int]:
        return self._places.values()

    @property
    def calls(self) -> int:
        return sum(node.calls for node in self._all())

    def submit(self, call: Call) -> None:
        owner = self._owners[_slot(call.key)]
        node = self._seed if owner is None else self._nodes.get(owner, self._seed)
        node.submit(call)

    def pick_channel(self) -> tuple[Dialer, str]:
        """Choose a node, and a token whose channel is in one of its slots."""
        if not self._dialers:
            return Dialer(self._config.url, timeout=self._config.attempt), secrets.token_hex(6)
        address = self._rng.choice(list(self._dialers))
        while True:
            token = secrets.token_hex(6)
            if self._owners[slot(token)] == address:
                return self._dialers[address], token

    async def close(self) -> None:
        self._closed = True
        if self._mapping is not None:
            self._mapping.cancel()
        for node in self._all():
            await node.close()
        if self._retired:
            await asyncio.wait(self._retired)

    # ── redirections ──

    def _redirect(self, call: Call, error: ReplyError) -> None:
        """Send a call where the server says: `MOVED <slot> <host>:<port>`, or `ASK` for once."""
        kind, place, where = str(error).split()[:3]
        host, _, port = where.rpartition(":")
        address = (host or self._host, int(port))
        call.asking = kind == "ASK"
        if not call.asking:
            self._owners[int(place)] = address
            self._map_soon()
            if call.once:
                # The slot may have moved in a failover, and the new master may know less.
                call.finish(Unknown("the slot is on another node"))
                return
        node = self._node(address)
        if call.tries <= EAGER:
            node.submit(call)
        else:
            self._loop.call_later(HOLD, node.submit, call)

    # ── who holds what ──

    def _map_soon(self) -> None:
        if self._mapping is None and not self._closed:
            self._mapping = self._loop.call_later(MAP_EVERY, self._ask_for_map)

    def _ask_for_map(self) -> None:
        self._mapping = None
        if not self._is_sound:
            self._map_soon()
        live = [node for node in self._nodes.values() if node.is_up] or [self._seed]
        self._rng.choice(live).submit(Call("", [("CLUSTER", "SLOTS")], self._take_map))

    def _take_map(self, outcome: Outcome) -> None:
        if self._closed:
            return
        reply = outcome[0] if isinstance(outcome, list) else None
        if not isinstance(reply, list):
            return
        owners: list[Address | None] = [None] * SLOTS
        for first, last, master, *_replicas in reply:
            host = master[0].decode() if master[0] else self._host
            owners[first : last + 1] = [(host, master[1])] * (last - first + 1)
        self._adopt(owners)

    @property
    def _is_sound(self) -> bool:
        """Whether all slots have an owner, and all owners answer."""
        return None not in self._owners and all(node.is_up for node in self._nodes.values())

    def _adopt(self, owners: list[Address | None]) -> None:
        self._owners = owners
        places = {owner: place for place, owner in enumerate(owners) if owner is not None}
        self._places, addresses = places, places.keys()
        for address in addresses:
            self._node(address)
        for address in self._nodes.keys() - addresses:
            self._retire(address)
        # What waits for a node that is away may be another's now.
        for node in (self._seed, *self._nodes.values()):
            if not node.is_up:
                for call in node.hand_back():
                    self.submit(call)
        if not self._is_sound:
            self._map_soon()
        self._mapped.set()

    def _node(self, address: Address) -> Node:
        node = self._nodes.get(address)
        if node is None:
            dialer = Dialer(self._config.url, timeout=self._config.attempt, address=address)
            self._dialers[address] = dialer
            node = self._nodes[address] = self._make(dialer)
        return node

    def _retire(self, address: Address) -> None:
        node = self._nodes.pop(address)
        del self._dialers[address]
        for call in node.hand_back():
            self.submit(call)
        task = asyncio.create_task(node.close())
        self._retired.add(task)
        task.add_done_callback(self._retired.discard)

    def _make(self, dialer: Dialer) -> Node:
        return Node(
            dialer,
            self._config,
            rng=self._rng,
            redirect=self._redirect,
            troubled=self._map_soon,
        )

    def _all(self) -> tuple[Node, ...]:
        return (self._seed, *self._nodes.values())


@lru_cache(maxsize=1 << 16)
def _slot(key: str) -> int:
    return slot(key)
