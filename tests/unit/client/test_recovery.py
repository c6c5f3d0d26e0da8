"""When another socket is sought, and for how long, in virtual time."""

import asyncio
import math
import random
from collections.abc import Awaitable, Callable, Iterator

import pytest

from legato.client.config import ClientConfig
from legato.client.recovery import GRACE, QUICKEST, Recovery, is_passing
from legato.errors import (
    ConnectionLost,
    Draining,
    IdleTimeout,
    LegatoError,
    Overloaded,
    SessionReplaced,
    Unauthenticated,
    UnsupportedVersion,
)
from legato.flow.backoff import INTERACTIVE, Profile
from tests.unit.client.network import FakeServer, FakeSocket
from tests.unit.gateway.virtual import VirtualLoop

LOST = ConnectionLost("lost")


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        yield runner


def recovery_of(
    dial: Callable[[], Awaitable[FakeSocket]], profile: Profile = INTERACTIVE
) -> Recovery:
    loop = asyncio.get_running_loop()
    return Recovery(dial, rng=random.Random(3), profile=profile, now=loop.time)


class Dial:
    """Fails in the ways that it is given, then succeeds.

    Attributes:
        began: When attempts began.
    """

    def __init__(self, *faults: LegatoError, takes: float = 0.0) -> None:
        self._faults = list(faults)
        self._takes = takes
        self.began: list[float] = []

    async def __call__(self) -> FakeSocket:
        self.began.append(asyncio.get_running_loop().time())
        await asyncio.sleep(self._takes)
        if self._faults:
            raise self._faults.pop(0)
        return await FakeServer().dial(ClientConfig())


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (ConnectionLost(), True),
        (Draining(), True),
        (Overloaded(), True),
        (IdleTimeout(), True),
        (SessionReplaced(), False),
        (Unauthenticated(), False),
        (UnsupportedVersion(), False),
    ],
)
def test_some_errors_pass_and_some_do_not(error: LegatoError, passes: bool) -> None:
    assert is_passing(error) is passes


def test_the_first_attempt_is_made_almost_at_once(runner: asyncio.Runner) -> None:
    async def main() -> None:
        waits = []
        for _ in range(50):
            dial = Dial()
            recovery = recovery_of(dial)
            recovery.begin(LOST, 30.0)
            await recovery.redial()
            waits.append(dial.began[0] - recovery.since)
        assert max(waits) <= INTERACTIVE.base

    runner.run(main())


def test_an_attempt_that_nobody_answered_has_waited_already(runner: asyncio.Runner) -> None:
    async def main() -> None:
        dial = Dial(takes=3600.0)
        recovery = recovery_of(dial)
        recovery.begin(LOST, 2.5 - GRACE)
        with pytest.raises(ConnectionLost, match="no answer in time"):
            await recovery.redial()
        steps = [later - before for before, later in zip(dial.began, dial.began[1:], strict=False)]
        assert steps
        assert all(QUICKEST <= step <= 1.0 for step in steps)

    runner.run(main())


def test_attempts_get_more_time_the_longer_the_trouble_lasts(runner: asyncio.Runner) -> None:
    async def main() -> None:
        dial = Dial(takes=3.0)  # slower than all that is given at first
        recovery = recovery_of(dial)
        recovery.begin(LOST, 60.0)
        await recovery.redial()
        assert len(dial.began) > 3

    runner.run(main())


def test_a_server_that_is_slow_by_nature_gets_the_time_that_it_needs(
    runner: asyncio.Runner,
) -> None:
    async def main() -> None:
        dial = Dial(takes=1.0)
        recovery = recovery_of(dial)
        await recovery.dial()
        recovery.begin(LOST, 60.0)
        await recovery.redial()
        assert len(dial.began) == 2

    runner.run(main())


def test_the_time_that_the_server_asks_for_is_given(runner: asyncio.Runner) -> None:
    async def main() -> None:
        dial = Dial(Overloaded(retry_after=4.0))
        recovery = recovery_of(dial)
        recovery.begin(Draining(retry_after=2.0), 60.0)
        await recovery.redial()
        assert 2.0 <= dial.began[0] - recovery.since <= 2.25
        assert 4.0 <= dial.began[1] - dial.began[0] <= 4.5

    runner.run(main())


def test_trouble_ends_and_begins_anew(runner: asyncio.Runner) -> None:
    async def main() -> None:
        recovery = recovery_of(Dial(LOST))
        assert not recovery.under_way
        recovery.begin(LOST, 30.0)
        began = recovery.since
        await recovery.redial()
        recovery.begin(LOST, 30.0)
        assert (recovery.since, recovery.until) == (began, began + 30.0 + GRACE)
        recovery.end()
        assert (recovery.under_way, recovery.until) == (False, math.inf)
        await asyncio.sleep(5.0)
        recovery.begin(LOST, 30.0)
        assert recovery.since > began + 5.0

    runner.run(main())


def test_who_gives_up_says_for_how_long_it_was_tried_and_why(runner: asyncio.Runner) -> None:
    async def main() -> None:
        recovery = recovery_of(Dial(*[ConnectionLost("refused")] * 99))
        recovery.begin(LOST, 4.0)
        with pytest.raises(ConnectionLost) as caught:
            await recovery.redial()
        assert "not regained in 9.0 s" in caught.value.message
        assert caught.value.message.endswith("tries: refused")
        assert isinstance(caught.value.__cause__, ConnectionLost)

    runner.run(main())


def test_an_error_that_will_not_pass_is_raised_as_it_is(runner: asyncio.Runner) -> None:
    async def main() -> None:
        recovery = recovery_of(Dial(LOST, Unauthenticated("no key")))
        recovery.begin(LOST, 30.0)
        with pytest.raises(Unauthenticated, match="no key"):
            await recovery.redial()

    runner.run(main())
