"""Several attempts to connect at once, in virtual time."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator

import pytest
from websockets.protocol import State

from legato.client.config import ClientConfig
from legato.client.race import MOST, Race
from legato.errors import ConnectionLost, LegatoError
from tests.unit.client.network import FakeServer, FakeSocket
from tests.unit.gateway.virtual import VirtualLoop

LOST = ConnectionLost("lost")


@pytest.fixture
def run() -> Iterator[Callable[[Coroutine[None, None, None]], None]]:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        yield runner.run


def dialling(*attempts: tuple[float, Exception | None]) -> Callable[[], Awaitable[FakeSocket]]:
    """Return what opens sockets: after so many seconds each, or not."""
    left = list(attempts)

    async def dial() -> FakeSocket:
        takes, error = left.pop(0)
        await asyncio.sleep(takes)
        if error is not None:
            raise error
        return await FakeServer().dial(ClientConfig())

    return dial


def test_the_first_that_succeeds_is_returned_and_the_others_are_given_up(
    run: Callable[[Coroutine[None, None, None]], None],
) -> None:
    async def main() -> None:
        race = Race(dialling((5.0, None), (1.0, None)))
        race.begin()
        race.begin()
        socket = await race.first(10.0)
        assert isinstance(socket, FakeSocket)
        assert socket.state is State.OPEN
        assert len(race) == 1
        race.end()
        assert len(race) == 0

    run(main())


def test_a_failure_is_told_and_the_others_go_on(
    run: Callable[[Coroutine[None, None, None]], None],
) -> None:
    async def main() -> None:
        race = Race(dialling((2.0, None), (1.0, LOST)))
        race.begin()
        race.begin()
        assert await race.first(10.0) is LOST
        assert isinstance(await race.first(10.0), FakeSocket)

    run(main())


def test_of_two_that_end_together_the_one_that_succeeds_counts(
    run: Callable[[Coroutine[None, None, None]], None],
) -> None:
    async def main() -> None:
        race = Race(dialling((1.0, LOST), (1.0, None)))
        race.begin()
        race.begin()
        await asyncio.sleep(2.0)
        assert isinstance(await race.first(0.0), FakeSocket)
        assert await race.first(0.0) is LOST

    run(main())


@pytest.mark.parametrize("attempts", [0, 1])
def test_nothing_is_waited_for_longer_than_asked(
    run: Callable[[Coroutine[None, None, None]], None], attempts: int
) -> None:
    async def main() -> None:
        race = Race(dialling((60.0, None)))
        for _ in range(attempts):
            race.begin()
        began = asyncio.get_running_loop().time()
        assert await race.first(3.0) is None
        assert asyncio.get_running_loop().time() - began == pytest.approx(3.0)
        race.end()

    run(main())


def test_a_bug_is_raised(run: Callable[[Coroutine[None, None, None]], None]) -> None:
    async def main() -> None:
        race = Race(dialling((1.0, ZeroDivisionError())))
        race.begin()
        with pytest.raises(ZeroDivisionError):
            await race.first(10.0)

    run(main())


def test_for_one_too_many_the_second_oldest_is_given_up(
    run: Callable[[Coroutine[None, None, None]], None],
) -> None:
    async def main() -> None:
        race = Race(dialling((9.0, None), (2.0, LOST), *[(60.0, None)] * 2))
        for _ in range(MOST + 1):
            race.begin()
            await asyncio.sleep(0.1)
        assert len(race) == MOST
        ended: FakeSocket | LegatoError | None = None
        while ended is None:
            ended = await race.first(1.0)  # type: ignore[assignment]  # a Socket that is one
        assert isinstance(ended, FakeSocket)
        assert asyncio.get_running_loop().time() > 8.0
        race.end()

    run(main())
