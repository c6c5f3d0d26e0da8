"""The streams that are cut, without a server."""

import asyncio

import pytest

from legato.audio import AudioFormat
from legato.bench.resume import Talk
from legato.client.channel import Channel
from legato.client.client import Client
from legato.client.listening import Echo
from legato.client.sources import AudioSource
from legato.protocol.media import AudioFrame
from tests.unit.client.fakes import Line, settle

PCM = bytes(320)


class FakeClient(Client):
    """Its streams are the line of the test."""

    def __init__(self, line: Line) -> None:
        self.line = line

    def echo(self, audio: AudioSource, **options: object) -> Echo:
        async def open_line() -> Channel:
            return self.line.channel

        return Echo(open_line, audio)


async def test_samples_that_come_back_in_order_are_right() -> None:
    line = Line("echo")
    talk = Talk(FakeClient(line))
    line.say(PCM, PCM)
    line.end()
    await talk.run()
    assert (talk.wrong, talk.moved.is_set()) == (0, True)


@pytest.mark.parametrize(("jump", "wrong"), [(40, 40), (-60, 60)])
async def test_samples_that_are_lost_or_come_twice_are_counted(jump: int, wrong: int) -> None:
    line = Line("echo")
    talk = Talk(FakeClient(line))
    line.say(PCM)
    samples = len(PCM) // 2
    line.channel.receive([AudioFrame(PCM, 1, sample=samples + jump)])
    line.end()
    await talk.run()
    assert talk.wrong == wrong


async def test_the_arrival_on_another_connection_is_told() -> None:
    line = Line("echo")
    talk = Talk(FakeClient(line))
    running = asyncio.create_task(talk.run())
    await settle(lambda: line.channel.on_notice is not None)
    line.channel.recovering()
    assert not talk.restored.is_set()
    line.channel.recovered()
    assert talk.restored.is_set()
    talk.stop()
    line.end()
    await running
    assert line.channel.stream.format == AudioFormat(8_000)
