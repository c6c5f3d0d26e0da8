import asyncio
from dataclasses import dataclass, field

import pytest

from legato.audio import AudioFormat
from legato.client.channel import Channel
from legato.client.config import ClientConfig
from legato.client.pool import Pool
from legato.errors import ConnectionLost
from legato.protocol.messages import StreamStart
from legato.session.client_stream import ClientStream
from tests.unit.client.fakes import FakeCarrier, first, settle

START = StreamStart(stream_id="s", stream=1, task="echo")


@dataclass
class Network:
    """What the fake connections find.

    Attributes:
        down: Whether no connection can be made.
        cut: Whether those that were made do not answer any more, though nobody has noticed.
        made: All that were made.
        gate: What a new connection waits for.
    """

    down: bool = False
    cut: bool = False
    made: list["FakeLink"] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.gate.set()

    def link(self, _config: ClientConfig) -> "FakeLink":
        self.made.append(FakeLink(self))
        return self.made[-1]

    def pool(self, size: int = 3) -> Pool:
        return Pool(ClientConfig(pool_size=size), self.link)

    @property
    def loads(self) -> list[int]:
        return [link.load for link in self.made]


class FakeLink:
    """A connection that is as good as the network is."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self.usable = False
        self.load = 0
        self.closed = False

    async def open(self) -> None:
        await self._network.gate.wait()
        if self._network.down:
            raise ConnectionLost("nobody is there")
        self.usable = True

    async def is_alive(self) -> bool:
        await asyncio.sleep(0)
        return self.usable and not self._network.cut

    def start(self, start: StreamStart) -> Channel:
        assert self.usable
        self.load += 1
        return Channel(ClientStream(start, AudioFormat(16_000)), FakeCarrier())

    def abort(self) -> None:
        self.usable = False

    async def close(self) -> None:
        self.closed = True
        self.usable = False


@pytest.fixture
def network() -> Network:
    return Network()


async def test_connections_are_made_on_first_use_and_then_shared(network: Network) -> None:
    pool = network.pool()
    assert (len(pool), network.made) == (0, [])

    for _ in range(7):
        await pool.start(START)

    assert network.loads == [3, 2, 2]
    assert len(pool) == 3


async def test_an_idle_connection_is_used_before_another_is_made(network: Network) -> None:
    pool = network.pool()
    await pool.start(START)
    network.made[0].load = 0

    await pool.start(START)

    assert network.loads == [1]


async def test_those_who_ask_at_once_get_no_more_connections_than_there_may_be(
    network: Network,
) -> None:
    network.gate.clear()
    pool = network.pool()
    waiting = [await first(pool.start(START)) for _ in range(10)]
    assert len(network.made) == 1

    network.gate.set()
    await asyncio.gather(*waiting)

    assert sorted(network.loads) == [3, 3, 4]


async def test_one_failure_is_told_to_all_who_wait_for_it(network: Network) -> None:
    network.gate.clear()
    network.down = True
    pool = network.pool()
    waiting = [await first(pool.start(START)) for _ in range(10)]

    network.gate.set()
    results = await asyncio.gather(*waiting, return_exceptions=True)

    assert [type(result) for result in results] == [ConnectionLost] * 10
    assert len(network.made) == 1


async def test_a_busy_connection_serves_when_no_other_can_be_made(network: Network) -> None:
    pool = network.pool()
    await pool.start(START)
    network.down = True

    await pool.start(START)

    assert network.made[0].load == 2


async def test_a_dead_connection_is_replaced_and_closed(network: Network) -> None:
    pool = network.pool()
    await pool.start(START)
    network.made[0].usable, network.made[0].load = False, 0

    await pool.start(START)
    await settle(lambda: network.made[0].closed)

    assert network.loads == [0, 1]
    assert len(pool) == 1


async def test_a_connection_that_goes_away_keeps_its_streams_until_they_end(
    network: Network,
) -> None:
    pool = network.pool()
    await pool.start(START)
    network.made[0].usable = False  # the server drains

    await pool.start(START)

    assert network.loads == [1, 1]
    assert not network.made[0].closed
    network.made[0].load = 0
    await pool.start(START)
    await settle(lambda: network.made[0].closed)


async def test_a_stale_connection_is_never_handed_out(network: Network) -> None:
    pool = network.pool(size=1)
    await pool.start(START)
    network.made[0].load = 0
    network.cut = True
    waiting = await first(pool.start(START), steps=2)
    network.cut = False

    await waiting

    assert not network.made[0].usable
    assert network.made[-1].load == 1


async def test_a_server_that_drops_all_its_connections_is_given_up(network: Network) -> None:
    network.cut = True

    with pytest.raises(ConnectionLost, match="drops its connections"):
        await network.pool(size=2).start(START)

    assert len(network.made) <= 4


async def test_closing_closes_all_and_what_is_being_made(network: Network) -> None:
    pool = network.pool()
    await pool.start(START)
    network.gate.clear()
    waiting = await first(pool.start(START))

    await pool.close()

    assert network.made[0].closed
    with pytest.raises(asyncio.CancelledError):
        await waiting
    with pytest.raises(ConnectionLost, match="closed"):
        await pool.start(START)
