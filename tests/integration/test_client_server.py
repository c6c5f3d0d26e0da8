"""The client against a real server in a process of its own."""

import asyncio
import math
import random
import struct
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

import legato
from legato import AudioChunk, AudioFormat
from legato.client.channel import Channel
from legato.codecs.wav import wav_bytes
from legato.errors import (
    BadAudio,
    ConnectionLost,
    MalformedMessage,
    TextTooLong,
    UnknownEngine,
    UnknownVoice,
    UnsupportedText,
)
from tests.integration.processes import TONES, Server, running_server

pytestmark = pytest.mark.integration

CHARACTER = 1_200
"""Samples at 24 kHz that `tone` gives a character: 50 ms."""


@pytest.fixture
async def client(tone_server: Server) -> AsyncIterator[legato.Client]:
    async with legato.connect(tone_server.url) as client:
        yield client


def noise(seconds: float, sample_rate: int = 16_000) -> bytes:
    values = random.Random(7)
    count = round(seconds * sample_rate)
    return struct.pack(f"<{count}h", *(values.randint(-9000, 9000) for _ in range(count)))


async def heard(listening: legato.Listening) -> str:
    return " ".join([said.text async for said in listening if said.final])


async def test_a_text_becomes_audio_of_the_asked_format(client: legato.Client) -> None:
    text = "Hello-there"
    speech = client.speak(text, sample_rate=16_000, channels=2, pace=100)

    chunks = [chunk async for chunk in speech]

    assert {chunk.format for chunk in chunks} == {AudioFormat(16_000, 2)}
    assert sum(chunk.samples for chunk in chunks) == len(text) * 800
    assert [chunk.sample for chunk in chunks] == sorted({chunk.sample for chunk in chunks})
    assert (speech.intact, speech.engine, speech.voice) == (True, "tone", "tone")
    assert speech.stats.first_audio is not None
    assert speech.stats.audio == pytest.approx(len(text) * 0.05)


async def test_text_in_pieces_sounds_like_the_whole_text(client: legato.Client) -> None:
    text = "One two three. Four five six! Seven, eight and nine? Ten."

    async def tokens() -> AsyncIterator[str]:
        for character in text:
            yield character

    whole = b"".join([chunk.pcm async for chunk in client.speak(text, pace=100)])
    streamed = b"".join([chunk.pcm async for chunk in client.speak(tokens(), pace=100)])
    at_once = b"".join([c.pcm async for c in client.speak(list(text), streaming=False, pace=100)])

    assert whole == streamed == at_once


async def test_echo_gives_back_the_exact_samples(client: legato.Client) -> None:
    sent = noise(3.0)
    echo = client.echo(sent, pace=100)

    came = b"".join([chunk.pcm async for chunk in echo])

    assert came == sent
    assert echo.intact


async def test_what_is_heard_depends_on_every_sample_and_not_on_the_chunks(
    client: legato.Client,
) -> None:
    sent = noise(2.5)
    odd = [sent[start : start + 4_242] for start in range(0, len(sent), 4_242)]

    whole = await heard(client.listen(sent))
    pieces = await heard(client.listen(odd))
    lacking = await heard(client.listen(sent[:16_000] + sent[16_640:]))

    assert whole == pieces != lacking
    assert len(whole.split()) == 13


async def test_transcripts_carry_words_with_times(client: legato.Client) -> None:
    listening = client.listen(noise(1.5))

    finals = [said async for said in listening if said.final]

    assert [(final.start, final.end) for final in finals] == [(0, 16_000), (16_000, 24_000)]
    assert [word.start for word in finals[1].words] == pytest.approx([1.0, 1.2, 1.4])
    assert listening.stats.first_partial is not None
    assert listening.stats.final_latency is not None
    assert listening.stats.audio == pytest.approx(1.5)


async def test_a_file_of_another_format_is_resampled_and_mixed(
    client: legato.Client, tmp_path: Path
) -> None:
    samples = [round(9000 * math.sin(i / 20)) for i in range(44_100)]
    stereo = struct.pack("<88200h", *(value for value in samples for _ in range(2)))
    path = tmp_path / "tone.wav"
    path.write_bytes(wav_bytes(stereo, AudioFormat(44_100, 2)))
    chunks = [AudioChunk(stereo, AudioFormat(44_100, 2))]

    from_file = client.listen(path)
    texts = [await heard(from_file), await heard(client.listen(chunks))]
    with path.open("rb") as stream:
        texts.append(await heard(client.listen(stream)))

    assert from_file.stats.audio == pytest.approx(1.0, abs=0.01)
    assert len(texts[0].split()) == 5
    assert texts[0] == texts[2]  # FFmpeg's reader and ours round the last bit differently


async def test_a_file_that_cannot_be_read_is_the_readers_error(
    client: legato.Client, tmp_path: Path
) -> None:
    (tmp_path / "not.wav").write_text("no audio at all")

    with pytest.raises(BadAudio, match="no such file"):
        await heard(client.listen(tmp_path / "missing.wav"))
    with pytest.raises(BadAudio, match="is text"):
        await heard(client.listen(str(tmp_path / "not.wav")))
    with pytest.raises(BadAudio, match="whole samples"):
        await heard(client.listen(b"\0" * 641))


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        ({"text": ""}, UnsupportedText),
        ({"text": " !? "}, UnsupportedText),
        ({"text": "a" * 20_001}, TextTooLong),
        ({"text": "a", "engine": "nobody"}, UnknownEngine),
        ({"text": "a", "voice": "nobody"}, UnknownVoice),
        ({"text": "a", "speed": 9.0}, MalformedMessage),
        ({"text": "a\ud800"}, MalformedMessage),
    ],
)
async def test_a_request_that_cannot_be_carried_out_fails_alone(
    client: legato.Client, request_: dict[str, object], error: type[Exception]
) -> None:
    other = client.speak("Others go on.", pace=100)
    first = await anext(other)

    with pytest.raises(error):
        async for _ in client.speak(**request_):  # type: ignore[arg-type]  # a test's table
            pass

    rest = [chunk async for chunk in other]
    assert first.samples + sum(chunk.samples for chunk in rest) == 13 * CHARACTER


async def test_many_streams_share_three_connections(client: legato.Client) -> None:
    parts = [noise(0.4 + 0.1 * number) for number in range(12)]

    async def echoed(part: bytes) -> bytes:
        return b"".join([chunk.pcm async for chunk in client.echo(part, pace=100)])

    assert await asyncio.gather(*map(echoed, parts)) == parts


async def test_leaving_a_loop_frees_the_stream_at_once(client: legato.Client) -> None:
    async def endless() -> AsyncIterator[str]:
        while True:
            yield "On and on. "
            await asyncio.sleep(0.01)

    tasks = len(asyncio.all_tasks())
    async for _ in client.speak(endless()):
        break
    async with client.speak(endless(), stream_id="left-early") as speech:
        await anext(speech)
    with pytest.raises(StopAsyncIteration):
        await anext(speech)

    async for _ in client.speak("The name is free again.", stream_id="another"):
        pass
    assert len(asyncio.all_tasks()) <= tasks + 6  # reader and writer of three connections


async def test_a_source_that_fails_is_told_to_the_reader(client: legato.Client) -> None:
    def broken() -> Iterator[str]:
        yield "Something. "
        raise RuntimeError("the model broke")

    with pytest.raises(RuntimeError, match="the model broke"):
        async for _ in client.speak(broken()):
            pass


async def test_a_used_id_is_refused(client: legato.Client) -> None:
    async with client.speak("Long enough to be here still. " * 20, stream_id="taken") as one:
        await anext(one)
        with pytest.raises(legato.LegatoError) as caught:
            async for _ in client.speak("Another text.", stream_id="taken", speed=2.0):
                pass

    assert caught.value.code == "stream_exists"


async def test_a_dialogue_says_one_thing_after_the_other(client: legato.Client) -> None:
    async with client.voice(pace=100) as voice:
        first, second = voice.say("One. "), voice.say(iter(["Two", " three. "]))

        lengths = [sum([chunk.samples async for chunk in one]) for one in (first, second)]

        assert lengths == [4 * CHARACTER, 10 * CHARACTER]
        assert [(one.number, one.reason) for one in (first, second)] == [(0, "done"), (1, "done")]


async def test_nothing_of_a_cancelled_utterance_comes_after_the_call(
    client: legato.Client,
) -> None:
    async with client.voice(pace=100) as voice:
        long, next_one = voice.say("This goes on for long. " * 40), voice.say("Short. ")
        heard_before = [await anext(long) for _ in range(3)]

        voice.played(heard_before[-1].sample)
        voice.cancel(long)
        after = [chunk async for chunk in long]
        rest = [chunk async for chunk in next_one]

        assert after == []
        assert (long.reason, next_one.reason) == ("cancelled", "done")
        assert sum(chunk.samples for chunk in rest) == 6 * CHARACTER
        assert rest[0].sample > heard_before[-1].sample


async def test_an_utterance_that_cannot_be_said_leaves_the_dialogue_open(
    client: legato.Client,
) -> None:
    async with client.voice(pace=100) as voice:
        voice.say("Good. ")
        voice.say("?!")
        voice.say("Better. ")
        voice.finish()
        samples, faults = 0, 0
        while True:
            try:
                async for chunk in voice:
                    samples += chunk.samples
                break
            except UnsupportedText:
                faults += 1

    assert (samples, faults) == (12 * CHARACTER, 1)


async def test_finalize_makes_text_final_before_the_audio_ends(client: legato.Client) -> None:
    more = asyncio.Event()

    async def speaker() -> AsyncIterator[bytes]:
        yield noise(0.3)
        await more.wait()
        yield noise(0.5)

    async with client.listen(speaker()) as listening:
        await anext(listening)
        listening.finalize()
        first = await anext(listening)
        while not first.final:
            first = await anext(listening)
        more.set()
        rest = [said async for said in listening if said.final]

    assert (first.utterance, first.end) == (0, 4_800)
    assert [(said.utterance, said.start, said.end) for said in rest] == [(1, 4_800, 12_800)]


async def test_the_pace_of_audio_up_can_be_limited(tone_server: Server) -> None:
    async with legato.connect(tone_server.url, rate=20.0, burst=0.2) as client:
        began = time.monotonic()
        async for _ in client.listen(noise(4.2)):
            pass

    # 0.2 s at once and 4 s at twenty times real time: no sooner than that, whatever the machine.
    assert time.monotonic() - began >= 0.2


async def test_what_the_server_offers_can_be_asked_for(client: legato.Client) -> None:
    voices, engines = await client.voices(), await client.engines()

    assert [(voice.name, voice.engine) for voice in voices] == [("tone", "tone")]
    assert {(engine.kind, engine.name, engine.state, engine.default) for engine in engines} == {
        ("synthesize", "tone", "ready", True),
        ("recognize", "tone", "ready", True),
    }


async def test_a_server_that_dies_ends_all_streams_and_is_connected_to_again(
    tmp_path: Path,
) -> None:
    async def spoken(client: legato.Client) -> None:
        async for _ in client.speak("This goes on for long. " * 100):
            pass

    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(started(tmp_path))
        client = await stack.enter_async_context(legato.connect(server.url, reconnect="never"))
        tasks = [asyncio.create_task(spoken(client)) for _ in range(5)]
        async for _ in client.speak("Warm. "):
            pass
        server.process.process.kill()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        with pytest.raises(ConnectionLost, match="legato serve"):
            await spoken(client)
        await stack.enter_async_context(started(tmp_path, port=server.url.rpartition(":")[2]))
        chunks = [chunk async for chunk in client.speak("Back. ")]

    assert [type(result) for result in results] == [ConnectionLost] * 5
    assert sum(chunk.samples for chunk in chunks) == 5 * CHARACTER


@asynccontextmanager
async def started(cwd: Path, *, port: str = "0") -> AsyncIterator[Server]:
    """A server whose coming and going does not block this loop."""
    running = running_server("--port", port, cwd=cwd, env=TONES)
    server = await asyncio.to_thread(running.__enter__)
    try:
        yield server
    finally:
        await asyncio.to_thread(running.__exit__, None, None, None)


def test_scripts_need_no_async(tone_server: Server) -> None:
    threads = set(threading.enumerate())
    with legato.connect_sync(tone_server.url) as client:
        spoken = client.speak(iter(["One. ", "Two. "]), pace=100)
        pcm = b"".join(chunk.pcm for chunk in spoken)
        listening = client.listen([AudioChunk(pcm, AudioFormat(24_000))])
        finals = [said for said in listening if said.final]
        with client.speak("This is left early. " * 50) as early:
            next(early)
        with pytest.raises(StopIteration):
            next(early)
        with pytest.raises(UnsupportedText):
            list(client.speak("?"))
        assert b"".join(chunk.pcm for chunk in client.echo(pcm[:32_000], pace=100)) == pcm[:32_000]
        assert [voice.name for voice in client.voices()] == ["tone"]
        assert len(client.engines()) == 2

    assert len(pcm) == 8 * CHARACTER * 2
    assert spoken.intact
    assert spoken.stats.audio == pytest.approx(8 * 0.05)
    assert finals[0].end == 8 * 800
    assert listening.stats.audio == pytest.approx(8 * 0.05)
    assert listening.warning is None
    with pytest.raises(ConnectionLost):
        client.voices()
    left = set(threading.enumerate()) - threads
    for thread in left:
        thread.join(5.0)  # a pump may just be ending
    assert [thread.name for thread in left if thread.is_alive()] == []


async def test_unread_audio_is_bounded_by_credit(client: legato.Client) -> None:
    async with client.speak("This is never read by anybody. " * 400, pace=1000) as speech:
        channel: Channel = speech._channel  # noqa: SLF001  (what is held is nowhere public)
        await asyncio.wait_for(_until_still(channel), 20)

    assert channel.stream.received_upto <= 30.5 * 24_000


async def _until_still(channel: Channel) -> None:
    before = -1
    while channel.stream.received_upto != before or before <= 0:
        before = channel.stream.received_upto
        await asyncio.sleep(0.3)
