from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from legato.bus.redis import RedisBus, RedisConfig
from tests.redis_server import RedisServer, shared_server

IMPATIENT = {"attempt": 0.2, "patience": 1.0}
"""Times of a bus whose server is going to be away."""


@pytest.fixture
def server() -> RedisServer:
    """A server that other tests use too, empty."""
    server = shared_server()
    server.cli("flushall")
    return server


@pytest.fixture
def own_server() -> Iterator[RedisServer]:
    """A server to do anything with."""
    server = RedisServer().start()
    yield server
    server.stop()


@pytest.fixture
def durable_server() -> Iterator[RedisServer]:
    """A server that has everything again after it was killed."""
    server = RedisServer("--appendonly", "yes", "--appendfsync", "always").start()
    yield server
    server.stop()


@pytest_asyncio.fixture
async def bus(server: RedisServer) -> AsyncIterator[RedisBus]:
    bus = await RedisBus.open(RedisConfig(url=server.url))
    yield bus
    await bus.close()


@pytest_asyncio.fixture
async def peer(server: RedisServer) -> AsyncIterator[RedisBus]:
    bus = await RedisBus.open(RedisConfig(url=server.url))
    yield bus
    await bus.close()
