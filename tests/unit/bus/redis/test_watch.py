"""Watching whether servers still have what they had."""

from __future__ import annotations

import asyncio

from legato.bus.redis.keys import Keys, slot
from legato.bus.redis.link import Reply, ReplyError
from legato.bus.redis.watch import Watch
from legato.errors import BusUnavailable
from tests.contract.buses import arrive
from tests.unit.bus.redis.fakes import FakeServers, commands

KEYS = Keys("legato")
EPOCH = KEYS.epoch(0).encode()


class Desk:
    """A watch that looks when told to, and what came of it."""

    def __init__(self, every: float = 3600.0) -> None:
        self.servers = FakeServers()
        self.lost = 0
        self.looks = 0
        self.watch = Watch(
            self.servers, KEYS, lost=self._count_lost, looked=self._count_looks, every=every
        )

    def look(self, *replies: list[Reply] | BusUnavailable) -> None:
        """Look, and let the server answer, a call at a time."""
        self.watch.close()
        self.watch.look()
        for reply in replies:
            self.servers.answer(*([reply] if isinstance(reply, BusUnavailable) else reply))

    def _count_lost(self) -> None:
        self.lost += 1

    def _count_looks(self) -> None:
        self.looks += 1


async def test_who_comes_first_writes_the_epoch() -> None:
    desk = Desk()
    desk.look()
    assert commands(desk.servers.asked[0]) == [[b"GETEX", EPOCH, b"PX", b"3600000"]]
    desk.servers.answer(None)
    write, read = commands(desk.servers.asked[0])
    assert write[:2] == [b"SET", EPOCH]
    assert write[3:] == [b"NX", b"PX", b"3600000"]
    assert read == [b"GET", EPOCH]
    desk.servers.answer(b"OK", write[2])
    desk.look([write[2]])
    assert desk.lost == 0
    assert desk.looks == 2


async def test_who_comes_later_takes_the_epoch_that_is_there() -> None:
    desk = Desk()
    desk.look([None], [None, b"another's"])
    desk.look([b"another's"])
    assert desk.lost == 0


async def test_an_epoch_that_has_changed_is_a_loss_once() -> None:
    desk = Desk()
    desk.look([b"one"])
    desk.look([b"two"])
    assert desk.lost == 1
    desk.look([b"two"])
    assert desk.lost == 1


async def test_an_epoch_that_is_gone_is_a_loss_once() -> None:
    desk = Desk()
    desk.look([b"one"])
    desk.look([None], [ReplyError("OOM no"), None])
    assert desk.lost == 1
    desk.look([None], [b"OK", b"two"])
    desk.look([b"two"])
    assert desk.lost == 1


async def test_a_server_that_does_not_answer_has_lost_nothing() -> None:
    desk = Desk()
    desk.look([b"one"])
    desk.look(BusUnavailable("away"))
    desk.look([ReplyError("NOPERM no")])
    desk.look([None], BusUnavailable("away"))
    assert desk.lost == 1, "it was there without its epoch"


async def test_a_server_is_not_asked_again_before_it_answers() -> None:
    desk = Desk()
    desk.look()
    desk.look()
    assert len(desk.servers.asked) == 1
    desk.servers.answer(None)
    desk.look()
    assert len(desk.servers.asked) == 1


async def test_it_looks_again_until_it_is_closed() -> None:
    desk = Desk(every=0.001)
    desk.watch.look()
    await arrive(lambda: desk.looks > 3)
    desk.watch.close()
    desk.watch.close()
    before = desk.looks
    await asyncio.sleep(0)
    assert desk.looks == before


def test_the_epoch_of_a_server_is_in_a_slot_of_its_own() -> None:
    for place in (0, 5461, 16383):
        assert slot(KEYS.epoch(place)) == place
