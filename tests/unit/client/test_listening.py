import asyncio
from collections.abc import AsyncIterator

import pytest

from legato.client.listening import Echo, Listening
from legato.errors import BadAudio
from legato.protocol.media import AudioFrame
from legato.protocol.messages import Cancel, Finalize, Flush, StreamEnd, Transcript, WordTimes
from legato.speech import Word
from tests.unit.client.fakes import Line


def line() -> Line:
    return Line("recognize")


async def test_audio_goes_up_in_frames_of_20_ms() -> None:
    stream = line()
    async with Listening(stream.open, bytes(320) * 2 + bytes(100)) as listening:
        items = await stream.sends(5)
        stats = listening.stats

    frames = [len(item.payload) for item in items if isinstance(item, AudioFrame)]
    assert frames == [320, 320, 100]
    assert [type(item) for item in items[3:]] == [Finalize, StreamEnd]
    assert stats.audio == pytest.approx(0.04 + 50 / 8_000)


async def test_half_a_sample_at_the_end_is_bad_audio() -> None:
    with pytest.raises(BadAudio):
        await anext(Listening(line().open, bytes(321)))


async def test_transcripts_come_as_the_server_wrote_them() -> None:
    stream = line()
    stream.channel.receive(
        [
            Transcript(
                seq=0,
                kind="final",
                text="Hi there",
                utterance=2,
                start=10,
                end=90,
                words=[WordTimes(text="Hi", start=0.1, end=0.2, confidence=0.5)],
                confidence=0.75,
                language="en",
                decoding_delay=0.25,
            )
        ]
    )
    stream.end_utterance()
    stream.end()

    (said,) = [said async for said in Listening(stream.open, b"")]

    assert (said.text, said.final, said.utterance, said.start, said.end) == (
        "Hi there",
        True,
        2,
        10,
        90,
    )
    assert said.words == (Word("Hi", 0.1, 0.2, 0.5),)
    assert (said.confidence, said.language, said.decoding_delay) == (0.75, "en", 0.25)


async def test_the_waits_are_measured_from_the_first_and_the_last_sample() -> None:
    stream = line()
    async with Listening(stream.open, bytes(640)) as listening:
        assert (listening.stats.first_partial, listening.stats.final_latency) == (None, None)
        await stream.sends(4)
        loop = asyncio.get_running_loop()
        stream.carrier.time = loop.time()
        stream.write("", final=False)
        stream.write("Hi", final=True, start=5)
        stream.end()
        async for _ in listening:
            pass

        assert listening.stats.first_partial is not None
        assert listening.stats.final_latency is not None
        assert listening.warning is None


async def test_marks_can_be_set_while_audio_flows() -> None:
    async def speaker() -> AsyncIterator[bytes]:
        yield bytes(320)
        await asyncio.Event().wait()

    stream = line()
    async with Listening(stream.open, speaker()) as listening:
        await stream.sends(1)
        listening.flush()
        listening.finalize()
        marks = stream.sent()
        listening.cancel()
        (cancel,) = stream.sent()

    assert [type(item) for item in marks] == [Flush, Finalize]
    assert isinstance(cancel, Cancel)
    assert cancel.utterance == 0  # another was not begun


async def test_an_echo_is_audio_again() -> None:
    stream = Line("echo")
    stream.say(bytes(320))
    stream.end()

    chunks = [chunk async for chunk in Echo(stream.open, bytes(320))]

    assert [chunk.pcm for chunk in chunks] == [bytes(320)]
    assert stream.channel.stream.consumed_upto == 160
