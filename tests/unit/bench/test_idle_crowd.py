import asyncio

import pytest

from legato.bench.idle_crowd import idlers
from legato.bench.idlers import Crowd
from legato.bench.machine import open_files
from legato.bench.process import ServerFailed
from legato.bench.stack import embedded

pytestmark = pytest.mark.integration


async def test_a_crowd_is_connected_for_the_length_of_the_block() -> None:
    async with embedded() as server:
        before = await asyncio.to_thread(open_files, server.running.pid)
        address = server.running.address
        crowd = Crowd(address=address, source="127.0.0.2", count=20, ping_every=0.2)
        async with idlers(crowd):
            assert await asyncio.to_thread(open_files, server.running.pid) == before + 20


async def test_a_server_that_is_not_there_is_told() -> None:
    crowd = Crowd(address="127.0.0.1:1", source="127.0.0.1", count=1, ping_every=1.0)
    with pytest.raises(ServerFailed, match="refused"):
        async with idlers(crowd):
            pass
