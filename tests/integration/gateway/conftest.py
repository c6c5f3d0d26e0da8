"""The gateway as it runs: real sockets, on the event loop that `legato serve` uses."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping

import pytest_asyncio
import uvloop

from tests.integration.gateway.wire import Peer, Site, eventually, serving


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"uvloop": uvloop.new_event_loop}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def shared() -> AsyncIterator[Site]:
    """A gateway with its worker, for all tests of a module."""
    async with serving() as site:
        yield site


@pytest_asyncio.fixture(loop_scope="module")
async def site(shared: Site) -> AsyncIterator[Site]:
    """The same, with no connection on it before and after."""
    yield shared
    await eventually(lambda: shared.server.open_connections == 0)


@pytest_asyncio.fixture(loop_scope="module")
async def bystander(site: Site) -> AsyncIterator[Peer]:
    """Another client, whose stream must go on undisturbed through all that a test does."""
    async with site.peer() as peer:
        started = await peer.start("echo")
        peer.stream_id = started["stream_id"]
        peer.begin_echo()
        yield peer
        await peer.end_echo()
        await peer.say("stop", stream=1)
