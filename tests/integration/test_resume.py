"""Streams over connections that are cut: nothing is lost, nothing comes twice."""

import asyncio
import hashlib
import json
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import legato
from legato.client.exchange import Exchange
from tests.cutter import Cut, Cutter, Direction
from tests.integration.processes import Server, run_legato
from tests.integration.test_client_server import noise, started

pytestmark = pytest.mark.integration

SEED = 20_26
TEXT = " ".join(f"Sentence number {number} is not very long." for number in range(12))


@asynccontextmanager
async def through_a_cutter(server: Server) -> AsyncIterator[tuple[Cutter, legato.Client]]:
    port = urlsplit(server.url).port
    assert port is not None
    async with Cutter(port) as cutter, legato.connect(cutter.url, pool_size=1) as client:
        yield cutter, client


def fingerprint(pcm: bytes) -> tuple[int, str]:
    return len(pcm), hashlib.sha256(pcm).hexdigest()


async def spoken(
    speech: Exchange[legato.AudioChunk], each: Callable[[int], object] = lambda _: None
) -> tuple[int, str]:
    """Read all of it, calling `each` with the number of each chunk."""
    pcm = bytearray()
    number = 0
    async for chunk in speech:
        assert chunk.sample * chunk.format.sample_bytes == len(pcm)
        pcm += chunk.pcm
        each(number)
        number += 1
    assert speech.intact
    return fingerprint(bytes(pcm))


async def finals(listening: legato.Listening) -> list[tuple[str, int, int]]:
    return [(said.text, said.start, said.end) async for said in listening if said.final]


async def in_pace(pcm: bytes, frames_at_once: int = 5) -> AsyncIterator[bytes]:
    """Samples at twenty times real time, so that cuts find some on their way."""
    step = 640 * frames_at_once
    for start in range(0, len(pcm), step):
        yield pcm[start : start + step]
        await asyncio.sleep(0.001 * frames_at_once)


async def test_speech_is_the_same_to_the_sample_when_it_is_cut(tone_server: Server) -> None:
    async with through_a_cutter(tone_server) as (cutter, client):
        undisturbed = await spoken(client.speak(TEXT, pace=20))
        values = random.Random(SEED)
        chosen = dict.fromkeys(values.sample(range(250), 4), Cut.RESET)
        chosen |= dict.fromkeys(values.sample(range(250), 4), Cut.CLOSE)
        speech = client.speak(TEXT, pace=20)

        disturbed = await spoken(
            speech, lambda number: cutter.cut(chosen[number]) if number in chosen else None
        )

        assert disturbed == undisturbed
        assert 0 < speech.resumes <= cutter.cuts


async def test_a_voice_is_the_same_to_the_sample_when_it_is_cut(voice_server: Server) -> None:
    text = "The line broke, and broke again, and nobody who listened could tell."
    async with through_a_cutter(voice_server) as (cutter, client):
        undisturbed = await spoken(client.speak(text, engine="hibari", pace=5))
        speech = client.speak(text, engine="hibari", pace=5)

        disturbed = await spoken(
            speech, lambda number: cutter.cut() if number in {3, 20, 40} else None
        )

        assert disturbed == undisturbed
        assert 0 < speech.resumes <= 3  # after the last cut nothing may be left to come


async def test_cuts_in_the_middle_of_a_frame_change_nothing(tone_server: Server) -> None:
    audio = noise(6.0)
    values = random.Random(SEED)
    async with through_a_cutter(tone_server) as (cutter, client):
        for direction in Direction:
            cutter.cut_after(values.randrange(30_000, 90_000), direction)
            echo = client.echo(in_pace(audio), pace=20)
            assert await spoken(echo) == fingerprint(audio)
            assert echo.resumes == 1
    assert cutter.cuts == 2


async def test_transcripts_are_the_same_when_the_way_up_is_cut(tone_server: Server) -> None:
    async with through_a_cutter(tone_server) as (cutter, client):
        pcm = b"".join([c.pcm async for c in client.speak(TEXT, sample_rate=16_000, pace=50)])
        undisturbed = await finals(client.listen(in_pace(pcm)))
        values = random.Random(SEED)
        listening = client.listen(in_pace(pcm))

        async def disturb() -> None:
            for how in [Cut.RESET, Cut.CLOSE, Cut.RESET, Cut.CLOSE]:
                cutter.cut_after(values.randrange(20_000, 80_000), Direction.UP, how)
                await cutter.happened.wait()
                cutter.happened.clear()

        disturbing = asyncio.create_task(disturb())
        disturbed = await finals(listening)
        await asyncio.wait_for(disturbing, 5.0)

        assert disturbed == undisturbed
        assert "".join(text for text, _, _ in undisturbed)
        assert listening.resumes == 4


async def test_a_command_tells_how_many_connections_it_outlived(
    tone_server: Server, tmp_path: Path
) -> None:
    async with through_a_cutter(tone_server) as (cutter, _):
        cutter.cut_after(60_000, Direction.DOWN)
        args = ("say", TEXT, "--json", "--url", cutter.url)
        done = await asyncio.to_thread(run_legato, *args, cwd=tmp_path)

    assert (done.returncode, done.stderr) == (0, b"")
    report = json.loads(done.stdout)
    assert (report["resumes"], report["intact"]) == (1, True)


async def test_a_half_open_connection_is_left_for_another(tone_server: Server) -> None:
    async with through_a_cutter(tone_server) as (cutter, client):
        undisturbed = await spoken(client.speak(TEXT, pace=20))
        speech = client.speak(TEXT, pace=20)
        began = time.monotonic()

        disturbed = await spoken(
            speech, lambda number: cutter.cut(Cut.SILENCE) if number == 60 else None
        )

        assert disturbed == undisturbed
        assert speech.resumes == 1
        assert time.monotonic() - began < 10.0


async def test_a_blackout_is_waited_for(tone_server: Server) -> None:
    audio = noise(8.0)
    async with through_a_cutter(tone_server) as (cutter, client):
        echo = client.echo(in_pace(audio), pace=20)
        told: list[str] = []
        echo.on_notice = lambda notice: told.append(notice.kind)

        def darken(number: int) -> None:
            if number == 60:
                cutter.darken()
                asyncio.get_running_loop().call_later(3.0, cutter.lighten)

        assert await spoken(echo, darken) == fingerprint(audio)
        assert echo.resumes == 1
        assert told == []  # the old connection was kept, in case it came back


async def test_a_server_that_forgot_its_streams_is_told_where_they_stand(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(started(tmp_path))
        client = await stack.enter_async_context(legato.connect(server.url))
        undisturbed = [chunk.pcm async for chunk in client.speak(TEXT)]
        speech = client.speak(TEXT)
        heard = [(await anext(speech)).pcm]
        server.process.process.kill()
        port = str(urlsplit(server.url).port)
        await stack.enter_async_context(started(tmp_path, port=port))
        heard += [chunk.pcm async for chunk in speech]
        assert b"".join(heard) == b"".join(undisturbed)


async def test_streams_of_one_connection_go_on_together(tone_server: Server) -> None:
    audio = [noise(3.0), noise(4.0), noise(5.0)]
    async with through_a_cutter(tone_server) as (cutter, client):
        echoes = [client.echo(in_pace(pcm), pace=20) for pcm in audio]

        async def disturb() -> None:
            for _ in range(3):
                await asyncio.sleep(0.15)
                cutter.cut()

        work: list[Awaitable[tuple[int, str]]] = [spoken(echo) for echo in echoes]
        *heard, _ = await asyncio.gather(*work, disturb())

        assert heard == [fingerprint(pcm) for pcm in audio]
        assert min(echo.resumes for echo in echoes) > 0
