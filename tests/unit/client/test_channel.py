import asyncio

import pytest

from legato.client.channel import QUEUED_ENTRIES, UNREAD_ENTRIES
from legato.errors import ConnectionLost, LegatoError, TextTooLong, UnexpectedMessage
from legato.protocol.media import AudioFrame
from legato.protocol.messages import Cancel, Finalize, Flush, Notice, StreamEnd, Text, Transcript
from tests.unit.client.fakes import Line, first
from tests.unit.gateway.virtual import VirtualLoop

FRAME = bytes(320)


def line() -> Line:
    return Line("recognize")


async def test_what_is_said_is_queued_in_order_and_wakes_the_connection() -> None:
    stream = Line()

    await stream.channel.send_text("Hello")
    stream.channel.flush()
    stream.channel.finalize()
    stream.channel.finish()

    assert [type(item) for item in stream.sent()] == [Text, Flush, Finalize, StreamEnd]
    assert stream.carrier.wakes == 4


async def test_a_producer_waits_while_too_much_is_unsent() -> None:
    stream = line()
    for _ in range(QUEUED_ENTRIES):
        await stream.channel.send_audio(FRAME)
    waiting = await first(stream.channel.send_audio(FRAME))
    assert not waiting.done()

    assert len(stream.sent()) == QUEUED_ENTRIES
    await waiting

    assert len(stream.sent()) == 1


async def test_a_producer_waits_while_nobody_reads() -> None:
    stream = line()
    for number in range(UNREAD_ENTRIES):
        stream.write("word", start=number)
    waiting = await first(stream.channel.send_audio(FRAME))
    assert not waiting.done()

    await stream.channel.receive_item()
    await waiting


async def test_a_waiting_producer_is_told_of_the_fault() -> None:
    stream = line()
    for _ in range(QUEUED_ENTRIES):
        await stream.channel.send_audio(FRAME)
    waiting = await first(stream.channel.send_audio(FRAME))

    stream.channel.fail(ConnectionLost("gone"))

    with pytest.raises(ConnectionLost):
        await waiting


async def test_nothing_is_taken_for_a_stream_that_was_stopped() -> None:
    stream = Line()
    stream.channel.stop()

    with pytest.raises(UnexpectedMessage):
        await stream.channel.send_text("more")
    assert stream.carrier.stopped == [stream.channel]
    assert stream.channel.failed


def test_audio_keeps_to_the_rate_after_a_burst() -> None:
    async def send() -> float:
        stream = Line("recognize", rate=2.0, burst=0.1)
        loop = asyncio.get_running_loop()
        stream.carrier.now = loop.time  # type: ignore[method-assign]  # the fake's clock is the loop's
        began = loop.time()
        for _ in range(55):  # 1.1 s of audio: 0.1 s at once, 1 s at twice real time
            await stream.channel.send_audio(FRAME)
        return loop.time() - began

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        assert runner.run(send()) == pytest.approx(0.5)


async def test_more_text_than_the_server_takes_is_refused_before_it_is_sent() -> None:
    stream = Line(max_text_chars=10)
    await stream.channel.send_text("12345")
    await stream.channel.send_text("67890")

    with pytest.raises(TextTooLong, match="10 characters"):
        await stream.channel.send_text("!")
    stream.channel.finalize()
    await stream.channel.send_text("1234567890")

    assert [item.text for item in stream.sent() if isinstance(item, Text)] == [
        "12345",
        "67890",
        "1234567890",
    ]


async def test_entries_come_in_order_and_then_the_end() -> None:
    stream = Line()
    stream.say(FRAME, FRAME)
    stream.end(intact=False)

    items = [await stream.channel.receive_item() for _ in range(3)]

    assert [type(item) for item in items] == [AudioFrame, AudioFrame, type(None)]
    assert not stream.channel.failed
    assert not stream.channel.intact


async def test_what_came_before_a_fault_is_still_read() -> None:
    stream = Line()
    stream.say(FRAME)
    stream.channel.fail(ConnectionLost("gone"))
    stream.channel.fail(LegatoError("too late to matter"))

    assert isinstance(await stream.channel.receive_item(), AudioFrame)
    with pytest.raises(ConnectionLost):
        await stream.channel.receive_item()


async def test_a_reader_wakes_when_something_comes() -> None:
    stream = Line()
    waiting = await first(stream.channel.receive_item())
    assert not waiting.done()

    stream.say(FRAME)

    assert isinstance(await waiting, AudioFrame)


async def test_a_partial_gives_way_to_what_says_it_better() -> None:
    stream = line()
    for text, final, start in (("a", False, 0), ("a b", False, 0), ("a b c", True, 0)):
        stream.write(text, final=final, start=start)
    stream.write("d", final=False, start=100)
    stream.write("x", final=False, start=0, utterance=1)
    stream.end()

    texts = []
    while (item := await stream.channel.receive_item()) is not None:
        assert isinstance(item, Transcript)
        texts.append(item.text)

    assert texts == ["a b c", "d", "x"]


async def test_nothing_of_a_cancelled_utterance_is_delivered_and_its_credit_comes_back() -> None:
    stream = Line()
    await stream.channel.send_text("One.")
    stream.say(FRAME, FRAME)
    stream.end_utterance()
    stream.say(FRAME, utterance=1)
    stream.sent()

    stream.channel.cancel(0, played_upto=7)

    assert stream.channel.stream.consumed_upto == 320
    assert [type(stream.channel.take_item()).__name__ for _ in range(3)] == [
        "UtteranceEnd",
        "AudioFrame",
        "NoneType",
    ]
    (cancel,) = stream.sent()
    assert isinstance(cancel, Cancel)
    assert (cancel.utterance, cancel.played_upto) == (0, 7)


async def test_a_cancel_after_the_end_is_nothing() -> None:
    stream = Line()
    stream.end()

    stream.channel.cancel(0)

    assert stream.sent() == []


async def test_what_was_taken_and_heard_is_acknowledged() -> None:
    stream = Line()
    stream.say(FRAME)

    stream.channel.consumed(160)
    wakes = stream.carrier.wakes
    stream.channel.consumed(320)
    assert stream.carrier.wakes == wakes == 1  # one ack is due for both

    stream.channel.played(80)
    ack = stream.channel.stream.take_ack(stream.carrier.time)
    assert (ack.played_upto, ack.credit_samples) == (80, 320 + 30 * 8_000)


async def test_news_and_pace_pass_through() -> None:
    stream = Line()
    news: list[Notice] = []
    stream.channel.notice(Notice(kind="queued"))
    stream.channel.on_notice = news.append

    stream.channel.notice(Notice(kind="restored"))
    stream.channel.pace(3.0)

    assert [notice.kind for notice in news] == ["restored"]
    assert stream.carrier.paces == [3.0]
    assert stream.channel.now() == stream.carrier.time
