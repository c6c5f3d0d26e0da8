import asyncio

import pytest

from legato.audio import AudioFormat
from legato.errors import EngineFailed, UnsupportedText
from legato.speech import RecognitionRequest, SynthesisRequest, Transcript
from legato.worker.calls import BACKLOG, CallTable, EngineLost
from legato.worker.frames import (
    WINDOW_BYTES,
    Abandon,
    CallInput,
    Consumed,
    EndInput,
    Failed,
    Feed,
    Finished,
    Grant,
    Heard,
    Listen,
    Reached,
    Sound,
    Speak,
)

SPEAK = SynthesisRequest(format=AudioFormat(16_000))
LISTEN = RecognitionRequest(format=AudioFormat(16_000))


class Wire:
    """Where commands go, a clock, and the calls."""

    def __init__(self, slots: int = 2) -> None:
        self.sent: list[Speak | Listen | CallInput] = []
        self.now = 0.0
        self.freed = 0
        self.calls = CallTable(slots, self.sent.append, self.clock, freed=self.free)

    def clock(self) -> float:
        return self.now

    def free(self, held: float) -> None:
        self.freed += 1


async def turns() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


async def test_a_call_takes_a_slot_until_the_engine_lets_go() -> None:
    wire = Wire()
    call = wire.calls.open(SPEAK)
    other = wire.calls.open(LISTEN)
    assert wire.sent == [Speak(0, 0, SPEAK), Listen(1, 1, LISTEN)]
    assert (call.slot, other.slot, wire.calls.free) == (0, 1, 0)
    wire.calls.receive(Finished(0))
    assert (wire.calls.free, wire.freed) == (1, 1)
    assert wire.calls.open(SPEAK).slot == 0


async def test_outputs_come_in_order_and_are_paid_for() -> None:
    wire = Wire()
    call = wire.calls.open(SPEAK)
    for output in (Sound(0, b"ab"), Reached(0, 9), Sound(0, b"cd")):
        wire.calls.receive(output)
    wire.sent.clear()
    outputs = [await anext(call) for _ in range(3)]
    assert outputs == [Sound(0, b"ab"), Reached(0, 9), Sound(0, b"cd")]
    assert wire.sent == [Grant(0, 2), Grant(0, 2)]
    wire.calls.receive(Finished(0))
    assert [output async for output in call] == []


async def test_input_waits_for_the_engine_to_take_what_is_there() -> None:
    wire = Wire()
    call = wire.calls.open(LISTEN)
    await call.feed(bytes(WINDOW_BYTES))
    feeding = asyncio.create_task(call.feed(b"ab"))
    await turns()
    assert not feeding.done()
    wire.calls.receive(Consumed(0, WINDOW_BYTES))
    await feeding
    call.end()
    assert wire.sent[1:] == [Feed(0, pcm=bytes(WINDOW_BYTES)), Feed(0, pcm=b"ab"), EndInput(0)]


async def test_closing_stops_both_ends_and_tells_the_engine_once() -> None:
    wire = Wire()
    call = wire.calls.open(LISTEN)
    await call.feed(bytes(WINDOW_BYTES))
    feeding = asyncio.create_task(call.feed(b"ab"))
    reading = asyncio.create_task(anext(call, None))
    await turns()
    wire.calls.receive(Reached(0, 1))
    wire.sent.clear()
    call.close()
    call.close()
    assert await reading is None
    await feeding
    call.end()
    wire.calls.receive(Sound(0, b"late"))
    assert [output async for output in call] == []
    assert wire.sent == [Abandon(0)]
    assert wire.calls.free == 1
    wire.calls.receive(Finished(0))
    assert wire.calls.free == 2


async def test_a_failure_comes_after_the_outputs_before_it() -> None:
    wire = Wire()
    call = wire.calls.open(SPEAK)
    wire.calls.receive(Sound(0, b"ab"))
    wire.calls.receive(Failed(0, "unsupported_text", "no", {"characters": "你"}))
    assert await anext(call) == Sound(0, b"ab")
    with pytest.raises(UnsupportedText, match="no") as caught:
        await anext(call)
    assert (caught.value.characters, caught.value.remote) == ("你", False)
    with pytest.raises(UnsupportedText):
        await call.feed("x")
    call.close()
    assert Abandon(0) not in wire.sent


async def test_a_call_whose_host_died_fails_with_the_verdict() -> None:
    wire = Wire()
    call = wire.calls.open(SPEAK)
    assert wire.calls.clear() == [call]
    call.fail(EngineLost("gone"))
    with pytest.raises(EngineLost):
        await anext(call)
    wire.calls.receive(Finished(0))
    assert (list(wire.calls), wire.calls.free) == ([], 0)


async def test_what_comes_first_is_the_verdict() -> None:
    call = Wire().calls.open(SPEAK)
    call.give_up(EngineFailed("first"))
    call.fail(EngineLost("second"))
    with pytest.raises(EngineFailed, match="first"):
        await anext(call)


async def test_a_call_knows_whether_its_engine_has_taken_all() -> None:
    wire = Wire()
    call = wire.calls.open(LISTEN)
    assert call.has_taken_all
    await call.feed(b"abcd")
    wire.calls.receive(Consumed(0, 2))
    assert [call.has_taken_all] == [False]
    wire.calls.receive(Consumed(0, 2))
    assert call.has_taken_all


def heard(text: str, *, final: bool = False) -> Heard:
    return Heard(0, Transcript(text=text, final=final, start=0, end=1))


async def test_of_partials_that_nobody_has_read_only_the_latest_is_kept_finals_all() -> None:
    wire = Wire()
    call = wire.calls.open(LISTEN)
    for number in range(BACKLOG):
        wire.calls.receive(heard(f"f{number}", final=True))
    for text in ("a", "b", "c"):
        wire.calls.receive(heard(text))
    wire.calls.receive(heard("C", final=True))
    wire.calls.receive(heard("D", final=True))
    wire.calls.receive(Finished(0))
    said = [output.transcript.text async for output in call if isinstance(output, Heard)]
    assert said == [*(f"f{number}" for number in range(BACKLOG)), "c", "C", "D"]


async def test_a_table_tells_how_long_slots_have_been_taken() -> None:
    held: list[float] = []
    wire = Wire()
    wire.calls = CallTable(2, wire.sent.append, wire.clock, freed=held.append)
    wire.calls.open(SPEAK)
    wire.now = 2.0
    wire.calls.open(SPEAK)
    wire.now = 5.0
    assert (wire.calls.ages(), len(wire.calls), wire.calls.opened) == ([5.0, 3.0], 2, 2)
    wire.calls.receive(Finished(0))
    assert (held, wire.calls.ages(), wire.calls.moves) == ([5.0], [3.0], 1)
