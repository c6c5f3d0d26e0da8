"""When another socket is sought, and for how long, in virtual time."""

import asyncio
import math
import random
from collections.abc import Awaitable, Callable, Iterator

import pytest
from websockets.protocol import State

from legato.client.config import ClientConfig
from legato.client.race import MOST
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
SLOW = Profile(base=8.0, cap=8.0, spread=0.0)
"""Always eight seconds from one attempt to the next."""


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        yield runner


def recovery_of(
    dial: Callable[[], Awaitable[FakeSocket]], profile: Profile | None = INTERACTIVE
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


class LateServer:
    """Answers one attempt after the other, in the order in which they came, given up or not.

    Args:
        takes: Seconds for each.
    """

    def __init__(self, takes: float) -> None:
        self._takes = takes
        self._free_at = 0.0

    async def dial(self) -> FakeSocket:
        loop = asyncio.get_running_loop()
        self._free_at = max(self._free_at, loop.time()) + self._takes
        await asyncio.sleep(self._free_at - loop.time())
        return await FakeServer().dial(ClientConfig())


def test_a_crowd_comes_back_to_a_server_that_is_late(runner: asyncio.Runner) -> None:
    async def main() -> None:
        server = LateServer(takes=0.02)
        crowd = [recovery_of(server.dial) for _ in range(200)]
        for one in crowd:
            one.begin(LOST, 30.0)
        began = asyncio.get_running_loop().time()
        await asyncio.gather(*(one.redial() for one in crowd))
        took = asyncio.get_running_loop().time() - began
        assert took <= 200 * 0.02 + 1.0, "the first attempt of each is answered in its turn"

    runner.run(main())


def test_no_more_than_three_attempts_are_under_way_and_the_first_is_kept(
    runner: asyncio.Runner,
) -> None:
    async def main() -> None:
        began: list[float] = []
        given_up: list[float] = []
        under_way: set[float] = set()
        most = 0

        async def dial() -> FakeSocket:
            nonlocal most
            now = asyncio.get_running_loop().time()
            began.append(now)
            under_way.add(now)
            most = max(most, len(under_way))
            try:
                await asyncio.sleep(6.0 if len(began) == 1 else 3600.0)
            except asyncio.CancelledError:
                given_up.append(now)
                raise
            finally:
                under_way.discard(now)
            return await FakeServer().dial(ClientConfig())

        recovery = recovery_of(dial)
        recovery.begin(LOST, 30.0)
        await recovery.redial()
        await asyncio.sleep(0.0)
        assert asyncio.get_running_loop().time() == pytest.approx(began[0] + 6.0)
        assert len(began) > MOST == most
        assert set(given_up) == set(began[1:])
        assert not under_way

    runner.run(main())


def test_the_socket_of_an_attempt_that_is_not_wanted_any_more_is_closed(
    runner: asyncio.Runner,
) -> None:
    async def main() -> None:
        server = FakeServer()

        async def stubborn() -> FakeSocket:
            try:
                await asyncio.sleep(1.0 if not server.sockets else 0.5)
            except asyncio.CancelledError:
                await asyncio.sleep(0.1)  # too late: it is open already
            return await server.dial(ClientConfig())

        recovery = recovery_of(stubborn)
        recovery.begin(LOST, 30.0)
        socket = await recovery.redial()
        await asyncio.sleep(1.0)
        others = [one for one in server.sockets if one is not socket]
        assert others
        assert socket.state is State.OPEN
        assert all(one.state is State.CLOSED for one in others)

    runner.run(main())


def test_an_attempt_that_is_answered_late_may_say_how_long_to_wait(runner: asyncio.Runner) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        began: list[float] = []

        async def dial() -> FakeSocket:
            began.append(loop.time())
            if len(began) == 1:
                await asyncio.sleep(0.501)
                raise Overloaded(retry_after=4.0)
            return await FakeServer().dial(ClientConfig())

        recovery = Recovery(dial, rng=random.Random(3), profile=SLOW, now=loop.time)
        recovery.begin(LOST, 60.0)
        await recovery.redial()
        assert began[1] - began[0] >= 0.501 + 4.0

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


def test_a_server_that_goes_away_is_asked_again_for_the_first_socket(
    runner: asyncio.Runner,
) -> None:
    async def main() -> None:
        dial = Dial(*[ConnectionLost("going away", retry_after=1.0)] * 2)
        recovery = recovery_of(dial)
        await recovery.dial()
        steps = [later - before for before, later in zip(dial.began, dial.began[1:], strict=False)]
        assert len(steps) == 2
        assert all(1.0 <= step <= 2.0 for step in steps)
        assert recovery.cause is None
        assert not recovery.under_way

    runner.run(main())


@pytest.mark.parametrize(
    ("fault", "profile"),
    [(LOST, INTERACTIVE), (ConnectionLost("full", retry_after=1.0), None)],
    ids=["it said nothing of later", "nothing is sought again"],
)
def test_the_first_socket_is_tried_for_once(
    runner: asyncio.Runner, fault: LegatoError, profile: Profile | None
) -> None:
    async def main() -> None:
        dial = Dial(fault)
        with pytest.raises(ConnectionLost) as caught:
            await recovery_of(dial, profile).dial()
        assert caught.value is fault
        assert len(dial.began) == 1

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
