"""What a writer tells its owner without being asked: how far it is stored, and that it is over."""

import asyncio
from dataclasses import dataclass, field

from legato.bus.base import Direction, LogWriter, StreamKey
from legato.errors import BusUnavailable, LegatoError, SessionExpired, SessionReplaced
from tests.contract.buses import Reader, Rig, arrive, filled, frame, refuse, settled, stream

UP = Direction.UP
KEY = stream()


@dataclass
class Owner:
    """Who is told."""

    numbers: list[int] = field(default_factory=list)
    reasons: list[LegatoError] = field(default_factory=list)

    def writer(self, rig: Rig, *, fence: int = 0, key: StreamKey = KEY) -> LogWriter:
        return rig.bus.logs.writer(
            key, UP, fence=fence, stored=self.numbers.append, failed=self.reasons.append
        )

    async def is_told(self, number: int) -> None:
        await arrive(lambda: self.numbers[-1:] == [number])

    async def end(self) -> LegatoError:
        await arrive(lambda: bool(self.reasons))
        return self.reasons[0]


async def test_what_is_stored_is_told_unasked(rig: Rig) -> None:
    await rig.bus.logs.create(KEY, ttl=rig.long)
    writer = (owner := Owner()).writer(rig)
    for n in range(3):
        writer.append(frame(n))
        await owner.is_told(n + 1)
        assert len(await rig.peer.logs.read(KEY, UP)) == n + 1
    assert owner.numbers == [1, 2, 3]


async def test_what_was_appended_together_is_told_once_and_not_within_append(rig: Rig) -> None:
    await rig.bus.logs.create(KEY, ttl=rig.long)
    writer = (owner := Owner()).writer(rig)
    await writer.settle()
    for n in range(5):
        writer.append(frame(n))
    assert owner.numbers == []
    await owner.is_told(5)
    assert owner.numbers == [5]


async def test_what_is_told_rises_and_is_never_ahead_of_what_is_stored(rig: Rig) -> None:
    await rig.bus.logs.create(KEY, ttl=rig.long)
    reader = Reader().follow(rig.peer, KEY, UP)
    seen: list[tuple[int, int]] = []
    writer = rig.bus.logs.writer(KEY, UP, stored=lambda n: seen.append((n, writer.stored)))
    for n in range(40):
        writer.append(frame(n))
        if n % 7 == 0:
            await asyncio.sleep(0.001)
    await reader.has(40)
    await arrive(lambda: seen[-1:] == [(40, 40)])
    numbers = [number for number, _ in seen]
    assert numbers == sorted(set(numbers))
    assert all(number <= stored for number, stored in seen)


async def test_numbers_are_those_of_the_log_also_when_others_write(rig: Rig) -> None:
    await filled(rig, KEY, 3)
    writer = (owner := Owner()).writer(rig)
    await settled(writer, frame(3))
    await owner.is_told(4)
    await settled(rig.peer.logs.writer(KEY, UP), frame(4))
    writer.append(frame(5))
    await owner.is_told(6)
    assert owner.numbers == [4, 6]


def raising(number: int) -> None:
    raise ArithmeticError(f"nobody wants to know of {number}")


async def test_an_owner_that_raises_costs_nobody_else_anything(rig: Rig) -> None:
    await rig.bus.logs.create(KEY, ttl=rig.long)
    caught: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: caught.append(context))
    writer = rig.bus.logs.writer(KEY, UP, stored=raising)
    reader = Reader().follow(rig.bus, KEY, UP)
    other = (owner := Owner()).writer(rig)
    writer.append(frame(0))
    other.append(frame(1))
    assert await reader.has(2) == [1, 2]
    await arrive(lambda: bool(owner.numbers and caught))
    writer.append(frame(2))
    assert await reader.has(3) == [1, 2, 3]
    await rig.quiet()


async def test_who_is_replaced_is_told_though_he_only_listens(rig: Rig) -> None:
    await rig.bus.logs.create(KEY, ttl=rig.long)
    writer = await settled((owner := Owner()).writer(rig), frame(0))
    await settled(rig.peer.logs.writer(KEY, UP, fence=1))
    assert isinstance(await owner.end(), SessionReplaced)
    await refuse(writer, SessionReplaced)
    await rig.quiet()
    assert len(owner.reasons) == 1


async def test_who_comes_with_an_old_fence_is_told_though_he_only_listens(rig: Rig) -> None:
    await rig.bus.logs.create(KEY, ttl=rig.long)
    await settled(rig.peer.logs.writer(KEY, UP, fence=2))
    writer = (owner := Owner()).writer(rig, fence=1)
    assert isinstance(await owner.end(), SessionReplaced)
    await refuse(writer, SessionReplaced)


async def test_who_writes_is_told_when_the_stream_is_deleted(rig: Rig) -> None:
    await rig.bus.logs.create(KEY, ttl=rig.long)
    writer = await settled((owner := Owner()).writer(rig), frame(0))
    await rig.peer.logs.delete(KEY)
    assert isinstance(await owner.end(), SessionExpired)
    await refuse(writer, SessionExpired)
    await rig.quiet()
    assert len(owner.reasons) == 1


async def test_who_writes_is_told_when_the_stream_expires(rig: Rig) -> None:
    await rig.bus.logs.create(KEY, ttl=rig.tick)
    writer = await settled((owner := Owner()).writer(rig), frame(0))
    await rig.advance(2 * rig.tick)
    assert isinstance(await owner.end(), SessionExpired)
    await refuse(writer, SessionExpired)


async def test_who_writes_to_a_stream_that_is_not_there_is_told(rig: Rig) -> None:
    writer = (owner := Owner()).writer(rig, key=stream("never"))
    assert owner.reasons == [], "told within the call"
    assert isinstance(await owner.end(), SessionExpired)
    await refuse(writer, SessionExpired)


async def test_who_writes_is_told_when_the_bus_is_closed(rig: Rig) -> None:
    await rig.bus.logs.create(KEY, ttl=rig.long)
    writer = await settled((owner := Owner()).writer(rig), frame(0))
    await rig.bus.close()
    assert isinstance(await owner.end(), BusUnavailable)
    assert writer.stored == 1
    assert len(owner.reasons) == 1


async def test_nothing_is_told_of_the_end_of_other_streams_and_later_fences(rig: Rig) -> None:
    await rig.bus.logs.create(KEY, ttl=rig.long)
    await filled(rig, stream("other"), 1)
    writer = await settled((owner := Owner()).writer(rig, fence=3), frame(0))
    await settled(rig.peer.logs.writer(KEY, Direction.DOWN, fence=9))
    await settled(rig.peer.logs.writer(KEY, UP, fence=3))
    await rig.peer.logs.delete(stream("other"))
    await refuse(rig.peer.logs.writer(KEY, UP, fence=1), SessionReplaced)
    await rig.quiet()
    await settled(writer, frame(1))
    assert owner.reasons == []
