from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.contract.buses import BUSES, Implementation, Rig


@pytest.fixture(
    params=[
        pytest.param(bus, id=bus.name, marks=[pytest.mark.requires(need) for need in bus.needs])
        for bus in BUSES
    ]
)
def implementation(request: pytest.FixtureRequest) -> Implementation:
    chosen: Implementation = request.param
    return chosen


@pytest_asyncio.fixture
async def rig(implementation: Implementation) -> AsyncIterator[Rig]:
    async with implementation.open() as opened:
        yield opened
