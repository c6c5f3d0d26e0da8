import asyncio
from collections.abc import AsyncIterator

import pytest

from legato.client.speech import Speech
from legato.protocol.messages import Flush, Text
from tests.unit.client.fakes import Line

PCM = bytes(320)


async def test_chunks_know_their_place() -> None:
    line = Line()
    line.say(PCM, PCM, b"")
    line.end()

    chunks = [chunk async for chunk in Speech(line.open, "Hello.")]

    assert [(chunk.sample, chunk.samples, chunk.utterance) for chunk in chunks] == [
        (0, 160, 0),
        (160, 160, 0),
    ]
    assert line.channel.stream.consumed_upto == 320


async def test_audio_and_the_wait_for_it_are_measured() -> None:
    line = Line()
    speech = Speech(line.open, "Hello.")
    line.say(PCM, PCM)
    line.end()

    async for _ in speech:
        pass

    assert speech.stats.first_audio is not None
    assert speech.stats.audio == pytest.approx(0.04)
    assert speech.stats.stalls == 0


async def test_the_listener_can_be_told_of_and_text_hurried() -> None:
    line = Line()
    async with Speech(line.open, "Hello") as speech:
        await line.sends()
        speech.played(0.5)
        await speech.cancel()

    assert line.channel.stream.played_upto == 4_000
    assert line.carrier.stopped


async def unfinished() -> AsyncIterator[str]:
    yield "Half a"
    await asyncio.Event().wait()


async def test_flush_has_half_a_sentence_spoken() -> None:
    line = Line()
    async with Speech(line.open, unfinished()) as speech:
        assert [type(item) for item in await line.sends()] == [Text]
        speech.flush()
        assert [type(item) for item in line.sent()] == [Flush]
