"""Gateways are tested in virtual time."""

import asyncio
from collections.abc import Callable, Mapping

from tests.unit.gateway.virtual import VirtualLoop


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"virtual": VirtualLoop}
