import asyncio
from collections.abc import AsyncIterator

import pytest

from legato.client.conversation import MAX_WAITING, Conversation
from legato.errors import BadAudio, ConnectionLost, RateLimited, UnsupportedText
from legato.protocol.messages import Cancel, Finalize, Flush, StreamEnd, Text
from legato.session.lane import Item
from tests.unit.client.fakes import Line, first, rest

PCM = bytes(320)


def words(items: list[Item]) -> list[str]:
    """What was sent, in short."""
    return [item.text if isinstance(item, Text) else type(item).__name__ for item in items]


async def unfinished(*pieces: str) -> AsyncIterator[str]:
    for piece in pieces:
        yield piece
    await asyncio.Event().wait()


async def test_one_thing_is_said_after_the_other() -> None:
    line = Line()
    async with Conversation(line.open) as voice:
        one, two = voice.say("One."), voice.say(iter(["Two", "."]))
        assert words(await line.sends(5)) == ["One.", "Finalize", "Two", ".", "Finalize"]
        line.say(PCM, PCM)
        line.end_utterance(0)
        line.say(PCM, utterance=1)
        line.end_utterance(1)

        assert [chunk.utterance async for chunk in one] == [0, 0]
        assert [chunk.utterance async for chunk in two] == [1]

    assert (one.number, one.reason, two.number, two.reason) == (0, "done", 1, "done")
    assert line.carrier.stopped == [line.channel]


async def test_reading_an_utterance_skips_those_before_it() -> None:
    line = Line()
    async with Conversation(line.open) as voice:
        one, two = voice.say("One."), voice.say("Two.")
        await line.sends(4)
        line.say(PCM)
        line.end_utterance(0)
        line.say(PCM, utterance=1)
        line.end_utterance(1)

        assert len([chunk async for chunk in two]) == 1
        assert one.reason == "done"
        assert [chunk async for chunk in one] == []


async def test_the_whole_dialogue_can_be_read_until_it_is_finished() -> None:
    line = Line()
    async with Conversation(line.open) as voice:
        voice.say("One.")
        voice.say("Two.")
        voice.finish()
        assert words(await line.sends(5))[-1] == "StreamEnd"
        line.say(PCM)
        line.end_utterance(0)
        line.say(PCM, utterance=1)
        line.end_utterance(1)
        line.end()

        assert [chunk.utterance async for chunk in voice] == [0, 1]


async def test_a_cancelled_utterance_gives_nothing_more_and_the_next_goes_on() -> None:
    line = Line()
    async with Conversation(line.open) as voice:
        long, short = voice.say("Long."), voice.say("Short.")
        await line.sends(4)
        line.say(PCM, PCM)
        await anext(long)
        voice.played(100)

        voice.cancel(long)
        (cancel,) = line.sent()
        line.end_utterance(0, cancelled=True)
        line.say(PCM, utterance=1)
        line.end_utterance(1)

        assert [chunk async for chunk in long] == []
        assert isinstance(cancel, Cancel)
        assert (cancel.utterance, cancel.played_upto) == (0, 100)
        assert [chunk.utterance async for chunk in short] == [1]
        assert (long.reason, short.reason) == ("cancelled", "done")
        voice.cancel(long)
        assert line.sent() == []


async def test_a_reader_of_what_is_cancelled_wakes_at_once() -> None:
    line = Line()
    async with Conversation(line.open) as voice:
        utterance = voice.say("Long.")
        await line.sends(2)
        reading = await first(anext(utterance, None))
        assert not reading.done()

        voice.cancel()

        assert await reading is None


async def test_cancelling_abandons_a_source_that_has_more_to_say() -> None:
    line = Line()
    async with Conversation(line.open) as voice:
        endless, following = voice.say(unfinished("And", " then")), voice.say("Stop.")
        await line.sends(2)

        voice.cancel(endless)

        assert words(await line.sends(3)) == ["Cancel", "Stop.", "Finalize"]
        assert following.number == 1


async def test_what_was_never_sent_is_cancelled_without_a_word() -> None:
    line = Line()
    async with Conversation(line.open) as voice:
        first_one = voice.say(unfinished())
        queued = voice.say("Queued.")
        await rest()

        voice.cancel()

        assert (first_one.reason, queued.reason) == ("cancelled", "cancelled")
        assert [chunk async for chunk in queued] == []
        later = voice.say("Later.")
        assert words(await line.sends(2)) == ["Later.", "Finalize"]
        assert later.number == 0


async def test_finalize_ends_what_is_being_said() -> None:
    line = Line()
    async with Conversation(line.open) as voice:
        voice.say(unfinished("Half a"))
        assert words(await line.sends(1)) == ["Half a"]
        voice.flush()
        voice.finalize()
        voice.say("Next.")

        sent = await line.sends(4)

    assert [type(item) for item in sent] == [Flush, Finalize, Text, Finalize]


async def test_a_text_without_a_word_is_done_at_once() -> None:
    line = Line()
    async with Conversation(line.open) as voice:
        empty, more = voice.say(iter([""])), voice.say("More.")

        assert [chunk async for chunk in empty] == []
        assert words(await line.sends(2)) == ["More.", "Finalize"]
        assert (empty.reason, empty.number, more.number) == ("done", None, 0)


async def test_a_failed_utterance_leaves_the_others_alone() -> None:
    line = Line()
    async with Conversation(line.open) as voice:
        bad, good = voice.say(unfinished("?")), voice.say("Good.")
        await line.sends(1)
        line.end_utterance(0, code="unsupported_text")

        with pytest.raises(UnsupportedText):
            await anext(bad)
        assert words(await line.sends(3)) == ["Finalize", "Good.", "Finalize"]
        line.say(PCM, utterance=1)
        line.end_utterance(1)
        assert [chunk.utterance async for chunk in good] == [1]


async def test_reading_all_raises_a_fault_and_can_go_on() -> None:
    line = Line()
    async with Conversation(line.open) as voice:
        voice.say("?")
        voice.say("Good.")
        voice.finish()
        await line.sends(5)
        line.end_utterance(0, code="unsupported_text")
        line.say(PCM, utterance=1)
        line.end_utterance(1)
        line.end()

        with pytest.raises(UnsupportedText):
            await anext(voice)
        assert [chunk.utterance async for chunk in voice] == [1]


async def test_a_source_that_fails_takes_back_what_it_said() -> None:
    async def broken() -> AsyncIterator[str]:
        yield "Some"
        raise RuntimeError("the model broke")

    line = Line()
    async with Conversation(line.open) as voice:
        bad = voice.say(broken())
        voice.say("Good.")

        with pytest.raises(RuntimeError, match="the model broke"):
            await anext(bad)
        assert words(await line.sends(4)) == ["", "Cancel", "Good.", "Finalize"]


async def test_a_lost_connection_is_told_to_the_reader() -> None:
    line = Line()
    async with Conversation(line.open) as voice:
        utterance = voice.say(unfinished("One."))
        reading = await first(anext(utterance))
        line.channel.fail(ConnectionLost("gone"))

        with pytest.raises(ConnectionLost):
            await reading


async def test_what_waits_to_be_said_is_bounded() -> None:
    line = Line()
    async with Conversation(line.open) as voice:
        voice.say(unfinished())
        await rest()
        for _ in range(MAX_WAITING):
            voice.say("One.")
        with pytest.raises(RateLimited):
            voice.say("One too many.")


async def test_one_task_at_a_time_reads() -> None:
    line = Line()
    async with Conversation(line.open) as voice:
        reading = await first(anext(voice))
        with pytest.raises(RuntimeError, match="another task"):
            await anext(voice)
        reading.cancel()


async def test_it_must_be_opened() -> None:
    with pytest.raises(RuntimeError, match="async with"):
        Conversation(Line().open).flush()


async def test_nothing_runs_on_after_the_block() -> None:
    line = Line()
    async with Conversation(line.open) as voice:
        voice.say(unfinished("One."))
        await line.sends(1)

    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert isinstance(line.sent(), list)
    assert not [item for item in line.sent() if isinstance(item, StreamEnd)]


async def test_a_dialogue_that_came_otherwise_than_it_was_sent_is_an_error() -> None:
    line = Line()
    async with Conversation(line.open) as voice:
        line.say(PCM)
        line.end(intact=False)
        assert (await anext(voice)).pcm == PCM
        with pytest.raises(BadAudio, match="digests differ"):
            await anext(voice)


async def test_the_connections_that_a_dialogue_has_outlived_are_counted() -> None:
    line = Line()
    voice = Conversation(line.open)
    told: list[str] = []
    voice.on_notice = lambda notice: told.append(notice.kind)
    assert voice.resumes == 0
    async with voice:
        line.channel.recovering()
        line.channel.recovered()
        assert voice.resumes == 1
    assert told == ["recovering", "restored"]
