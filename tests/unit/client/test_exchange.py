import asyncio
import gc
from collections.abc import AsyncIterator

import pytest

from legato.audio import AudioChunk
from legato.client.speech import Speech
from legato.errors import BadAudio, ConnectionLost, UnsupportedText
from legato.protocol.messages import Finalize, StreamEnd, StreamStarted, Text
from tests.unit.client.fakes import Line, first, settle

PCM = bytes(320)


async def words(*pieces: str) -> AsyncIterator[str]:
    for piece in pieces:
        yield piece


async def waiting_for_ever() -> AsyncIterator[str]:
    yield "One. "
    await asyncio.Event().wait()


async def test_the_stream_is_opened_when_the_first_item_is_asked_for() -> None:
    line = Line()
    speech = Speech(line.open, "Hello.")
    assert line.opened == 0
    with pytest.raises(RuntimeError, match="not open"):
        speech.flush()
    line.say(PCM)
    line.end()

    chunks = [chunk async for chunk in speech]

    assert line.opened == 1
    assert chunks == [AudioChunk(PCM, line.channel.stream.format)]
    assert speech.intact
    with pytest.raises(StopAsyncIteration):
        await anext(speech)


async def test_input_is_sent_as_it_comes_and_then_ended() -> None:
    line = Line()
    async with Speech(line.open, words("One", " two.")):
        items = await line.sends(4)

    assert [type(item) for item in items] == [Text, Text, Finalize, StreamEnd]


async def test_nothing_is_said_to_be_intact_before_the_end() -> None:
    line = Line()
    async with Speech(line.open, "Hello.") as speech:
        assert not speech.intact
        line.end(intact=False)
        with pytest.raises(BadAudio, match="digests differ"):
            await anext(speech)
        assert not speech.intact
        with pytest.raises(StopAsyncIteration):
            await anext(speech)


async def test_the_connections_that_a_stream_has_outlived_are_counted() -> None:
    line = Line()
    speech = Speech(line.open, "Hello.")
    told: list[str] = []
    speech.on_notice = lambda notice: told.append(notice.kind)
    assert speech.resumes == 0
    async with speech:
        line.channel.recovering()
        line.channel.recovering()
        line.channel.recovered()
        assert speech.resumes == 1
    assert told == ["recovering", "restored"]


async def test_engine_and_voice_are_known_once_the_server_has_answered() -> None:
    line = Line()
    speech = Speech(line.open, "Hello.")
    assert (speech.engine, speech.voice) == (None, None)
    async with speech:
        assert (speech.engine, speech.voice) == (None, None)
        line.channel.opened(
            StreamStarted(
                stream_id="s", task="synthesize", sample_rate=8_000, engine="tone", voice="low"
            )
        )
        assert (speech.engine, speech.voice) == ("tone", "low")


async def test_a_failed_utterance_is_raised_with_the_servers_code() -> None:
    line = Line()
    line.say(PCM)
    line.end_utterance(code="unsupported_text")
    speech = Speech(line.open, "Hello.")

    assert (await anext(speech)).pcm == PCM
    with pytest.raises(UnsupportedText, match="this is unsupported_text") as caught:
        await anext(speech)

    assert caught.value.remote
    assert line.carrier.stopped == [line.channel]
    with pytest.raises(StopAsyncIteration):
        await anext(speech)


async def test_a_lost_connection_ends_the_feeding_too() -> None:
    line = Line()
    speech = Speech(line.open, waiting_for_ever())
    reading = await first(anext(speech))
    tasks = asyncio.all_tasks()

    line.channel.fail(ConnectionLost("gone"))
    with pytest.raises(ConnectionLost):
        await reading

    assert len(asyncio.all_tasks()) < len(tasks)


async def test_leaving_the_block_stops_the_stream_and_the_source() -> None:
    line = Line()
    async with Speech(line.open, waiting_for_ever()):
        await line.sends()

    assert line.carrier.stopped == [line.channel]
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_letting_go_of_it_stops_the_stream_and_the_source() -> None:
    line = Line()
    line.say(PCM)
    async for _ in Speech(line.open, waiting_for_ever()):
        break
    gc.collect()

    await settle(lambda: asyncio.all_tasks() == {asyncio.current_task()})
    assert line.carrier.stopped == [line.channel]


async def test_what_the_source_raises_is_raised_to_the_reader() -> None:
    async def broken() -> AsyncIterator[str]:
        yield "One. "
        raise RuntimeError("the model broke")

    line = Line()
    with pytest.raises(RuntimeError, match="the model broke"):
        await anext(Speech(line.open, broken()))
    assert line.carrier.stopped == [line.channel]


async def test_an_error_of_ours_from_the_source_is_raised_as_it_is() -> None:
    async def refused() -> AsyncIterator[str]:
        yield "One. "
        raise UnsupportedText("no such letters")

    line = Line()
    with pytest.raises(UnsupportedText, match="no such letters"):
        await anext(Speech(line.open, refused()))
    assert line.channel in line.carrier.stopped


async def test_the_stream_that_fails_is_told_once_though_its_source_finds_it_closed() -> None:
    line = Line()
    go_on = asyncio.Event()

    async def source() -> AsyncIterator[str]:
        yield "One. "
        await go_on.wait()
        yield "Two. "

    async with Speech(line.open, source()) as speech:
        await line.sends()
        line.channel.fail(ConnectionLost("gone"))
        go_on.set()
        with pytest.raises(ConnectionLost, match="gone"):
            await anext(speech)
