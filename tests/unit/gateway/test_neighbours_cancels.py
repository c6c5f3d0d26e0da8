"""What is stored before it counts, and cancels of a stream that goes from gateway to gateway."""

import asyncio
from collections.abc import Callable

import pytest

from legato.bus.base import Committed, Direction
from legato.gateway.notes import stream_note
from legato.protocol.media import AudioFrame
from legato.protocol.messages import (
    Ack,
    Cancel,
    FlowControl,
    StreamEnd,
    Text,
    UtteranceEnd,
)
from tests.unit.gateway.neighbours import (
    KEY,
    Ear,
    Neighbour,
    acquainted,
    neighbours,
    resume,
    resumed,
)
from tests.unit.gateway.stage import FRAME

# what is acknowledged is stored


async def test_only_what_is_stored_is_acknowledged() -> None:
    here, there = await neighbours()
    here.view.fake.store_delay = 1.0
    line = await acquainted(here)
    line.send(FRAME, FRAME)
    await asyncio.sleep(0.9)
    assert not any('"received_seq":1' in str(said) for said in line.socket.sent)
    while (await line.hear("ack")).get("received_seq", -1) < 1:
        pass
    record = stream_note(await there.bus.logs.notes(KEY))
    assert record is not None
    assert record[0].gateway


async def test_nothing_behind_a_cancel_is_sent_until_it_is_stored() -> None:
    here, _ = await neighbours()
    here.view.fake.store_delay = 1.0
    line = await acquainted(here)
    job = await here.work()
    line.say(Text(stream=1, seq=0, text="a"))
    job.play(3)
    await asyncio.sleep(0.1)
    line.say(Cancel(stream=1, seq=1, utterance=0))
    job.write(UtteranceEnd(seq=3, utterance=0, reason="cancelled"))
    job.write(AudioFrame(FRAME, 4, sample=960, utterance=1))
    await asyncio.sleep(0.5)
    assert [frame.seq for frame in line.frames()] == [0, 1, 2]
    await asyncio.sleep(0.6)
    assert [frame.seq for frame in line.frames()] == [4]


# cancels


class Play:
    """A client that cancels, and goes from gateway to gateway at given steps.

    Args:
        gateways: In the order of their turn.
        moves: Steps before which it goes on to the next.
        lost: How many of the last messages are lost with each connection.
    """

    def __init__(self, gateways: list[Neighbour], moves: tuple[int, ...], lost: int) -> None:
        self.gateways = gateways
        self.moves = moves
        self.lost = lost
        self.ear = Ear()
        self.number = 1
        self.said: list[Text | Cancel] = []

    async def run(self) -> Ear:
        """Play all steps."""
        self.line = await acquainted(self.gateways[0])
        self.job = await self.gateways[0].work()
        steps: tuple[Callable[[], None], ...] = (
            lambda: self.say(Text(seq=0, text="a")),
            lambda: self.line.say(FlowControl(rate=1.0)),
            lambda: self.write(0, 3, utterance=0),
            lambda: self.say(Cancel(seq=1, utterance=0)),
            lambda: self.write(3, 6, utterance=0),
            lambda: self.job.write(
                UtteranceEnd(seq=6, utterance=0, reason="cancelled", sample=6 * 320), Committed(1)
            ),
            self.acknowledge,
            lambda: self.write(7, 9, utterance=1),
            self.acknowledge,
            lambda: self.job.write(UtteranceEnd(seq=9, utterance=1, reason="done"), Committed(1)),
            lambda: self.job.write(StreamEnd(seq=10)),
        )
        for number, step in enumerate(steps):
            for _ in range(self.moves.count(number)):
                await self.move()
            step()
            await asyncio.sleep(0.05 if number < 6 else 0.4)  # later there is time for a trim
        self.ear.listen(self.line)
        return self.ear

    def say(self, message: Text | Cancel) -> None:
        """Send an entry of up."""
        self.said.append(message)
        message.stream = self.number
        self.line.say(message)

    def write(self, first: int, end: int, *, utterance: int) -> None:
        """Have the worker write frames, in one entry."""
        self.job.write(
            *(
                AudioFrame(
                    bytes([seq + 1]) * 640, seq, sample=320 * (seq - utterance), utterance=utterance
                )
                for seq in range(first, end)
            )
        )

    def acknowledge(self) -> None:
        """Tell what came."""
        self.ear.listen(self.line)
        self.line.say(Ack(stream=self.number, received_seq=self.ear.seq))

    async def move(self) -> None:
        """Lose the connection and go on at the next gateway."""
        self.ear.listen(self.line, lost=self.lost)
        await self.line.cut()
        self.gateways = [*self.gateways[1:], self.gateways[0]]
        new = await self.gateways[0].hello()
        self.number = 7
        new.say(resume(self.line.token, received=self.ear.seq))
        said = await new.hear("resumed")
        new.say(Ack(stream=7, received_seq=self.ear.seq))
        for message in self.said:
            if (message.seq or 0) > said.get("received_seq", -1):
                message.stream = 7
                new.say(message)
        self.line = new


STEPS = 11


@pytest.mark.parametrize("lost", [0, 1, 2, 4])
@pytest.mark.parametrize("first", range(1, STEPS))
async def test_wherever_a_cancel_was_all_gateways_count_the_same(first: int, lost: int) -> None:
    for second in range(first, STEPS):
        gateways = await neighbours(3)
        ear = await Play(gateways, (first, second), lost).run()
        assert ear.is_intact(), (first, second, lost)


async def test_what_was_struck_is_known_as_long_as_down_has_it() -> None:
    here, there = await neighbours()
    line = await acquainted(here)
    job = await here.work()
    line.say(FlowControl(rate=0.0))
    line.say(Text(stream=1, seq=0, text="a"))
    frames = [AudioFrame(FRAME, seq, sample=320 * seq) for seq in range(10)]
    job.write(*frames, UtteranceEnd(seq=10, utterance=0, reason="done"))
    await asyncio.sleep(0.1)
    line.say(Cancel(stream=1, seq=1, utterance=0))
    assert (await line.hear("utterance_end"))["sent_seq"] == -1
    line.say(Ack(stream=1, received_seq=10))
    job.write(Committed(1, chars=1))
    await asyncio.sleep(2.5)
    notes = await here.bus.logs.notes(KEY)
    assert Direction.UP.value in notes
    assert Direction.DOWN.value not in notes  # down is one entry, and that one stays
    await line.cut()
    new = await resumed(there, line.token, received=10)
    job.write(StreamEnd(seq=11))
    end = await new.hear("stream_end")
    assert (end["frames"], end["digest"]) == (0, "00" * 32)
