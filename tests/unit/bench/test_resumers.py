import asyncio

import pytest

from legato.bench.resumers import FRAME, SAMPLES, Severable, Talker
from legato.client.channel import Channel
from legato.client.config import ClientConfig
from legato.client.listening import Echo
from legato.client.sources import AudioSource
from legato.errors import Internal
from legato.protocol.media import AudioFrame
from tests.unit.client.fakes import Line, settle


class FakeClient(Severable):
    """Its streams are the line of the test."""

    def __init__(self, line: Line) -> None:
        super().__init__(ClientConfig())
        self.line = line

    def echo(self, audio: AudioSource, **options: object) -> Echo:
        async def open_line() -> Channel:
            return self.line.channel

        return Echo(open_line, audio)


def talker(line: Line) -> Talker:
    return Talker(FakeClient(line), every=3600.0, delay=3600.0)


async def test_a_talker_speaks_when_it_is_time_and_ends_when_told() -> None:
    line = Line("echo")
    one = talker(line)
    running = asyncio.create_task(one.run())
    (first, *_) = await line.sends(1)
    assert isinstance(first, AudioFrame)
    line.say(first.payload)
    await settle(one.begun.is_set)
    one.stop()
    line.end()
    await running
    assert (one.wrong, one.failed) == (one.sent - len(first.payload) // 2, "")


@pytest.mark.parametrize(("jump", "wrong"), [(0, 0), (40, 80), (-60, 120)])
async def test_samples_that_are_lost_or_come_twice_are_counted(jump: int, wrong: int) -> None:
    line = Line("echo")
    one = talker(line)
    running = asyncio.create_task(one.run())
    await line.sends(1)
    line.channel.receive([AudioFrame(FRAME, 0, sample=jump)])
    await settle(one.begun.is_set)
    one.stop()
    line.end()
    await running
    # Once where they came, and once at the end, which is not where it must be.
    assert one.wrong == wrong + (one.sent - SAMPLES)


async def test_the_first_arrival_on_another_connection_counts() -> None:
    line = Line("echo")
    one = talker(line)
    running = asyncio.create_task(one.run())
    await settle(lambda: line.channel.on_notice is not None)
    line.channel.recovering()
    assert not one.restored.is_set()
    line.channel.recovered()
    at = one.restored_at
    line.channel.recovering()
    line.channel.recovered()
    assert one.restored.is_set()
    assert one.restored_at == at
    one.stop()
    line.end()
    await running


async def test_why_a_stream_failed_is_told() -> None:
    line = Line("echo")
    one = talker(line)
    running = asyncio.create_task(one.run())
    await settle(lambda: line.channel.on_notice is not None)
    line.channel.fail(Internal("a test failed it"))
    await running
    assert one.failed == "internal: a test failed it"
    assert one.begun.is_set()


def test_what_is_not_connected_cannot_be_cut() -> None:
    Severable(ClientConfig()).sever()
