"""Streams that outlive their connection."""

import asyncio
import itertools
from typing import Any

import pytest

from legato.bus.base import Direction, StreamKey
from tests.integration.gateway.wire import FRAME, Peer, Site, eventually, fresh_id, serving

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]


async def begun(peer: Peer, task: str = "echo", **fields: Any) -> str:
    """Start a stream and show the server that it is known; return its id."""
    name = str((await peer.start(task, **fields))["stream_id"])
    await peer.say("ack", stream=1)
    await peer.say("ping", id=1)
    await peer.hear("pong")
    return name


async def resume(peer: Peer, name: str, token: str, *, stream: int = 1, received: int = -1) -> None:
    await peer.say(
        "resume", stream_id=name, stream=stream, token=token, received_seq=received, sent_seq=9
    )


async def test_an_echo_goes_on_where_it_was(site: Site, bystander: Peer) -> None:
    async with site.peer() as peer:
        name = await begun(peer)
        await peer.send(*[FRAME] * 5)
        assert [frame.seq for frame in await peer.frames(3)] == [0, 1, 2]
        peer.wire.transport.abort()
    await eventually(lambda: site.server.open_connections == 1)
    async with site.peer() as new:
        await resume(new, name, peer.welcome["resume_token"], stream=5, received=2)
        resumed = await new.hear("resumed")
        assert resumed["recovered"] is True
        assert resumed["received_seq"] == 4
        await new.send(FRAME, FRAME, FRAME, stream=5, seq=3)  # two of them again
        frames = await new.frames(3)
        assert [(frame.stream, frame.seq) for frame in frames] == [(5, 3), (5, 4), (5, 5)]
        assert all(frame.payload == FRAME for frame in frames)


async def test_the_end_is_told_again_until_it_is_acknowledged(site: Site) -> None:
    async with site.peer() as peer:
        name = await begun(peer, "synthesize")
        await peer.entry("text", text="hi")
        await peer.entry("stream_end")
        end = await peer.hear("stream_end")
    async with site.peer() as new:
        await resume(new, name, peer.welcome["resume_token"])
        again = await new.hear("stream_end")
        assert again["digest"] == end["digest"]
        await new.say("ack", stream=1, received_seq=again["seq"])
        await new.say("ping", id=2)
        await new.hear("pong")
        await resume(new, name, new.welcome["resume_token"])
        await new.error("session_expired")


async def test_the_token_rotates(site: Site) -> None:
    async with site.peer() as first:
        name = await begun(first)
    async with site.peer() as second:
        await resume(second, name, first.welcome["resume_token"])
        await second.hear("resumed")
        await second.say("ack", stream=1)
    async with site.peer() as third:
        await resume(third, name, first.welcome["resume_token"])
        await third.error("session_expired")
        await resume(third, name, second.welcome["resume_token"])
        await third.hear("resumed")
        await third.say("stop", stream=1)


async def test_after_the_window_it_is_gone() -> None:
    async with serving(resume_window=0.3) as site:
        async with site.peer() as peer:
            assert peer.welcome["limits"]["resume_window"] == 0.3
            name = await begun(peer)
        await eventually(lambda: site.server.open_streams == 0)
        assert not await site.bus.logs.exists(StreamKey("default", name))
        async with site.peer() as new:
            await resume(new, name, peer.welcome["resume_token"])
            await new.error("session_expired")


async def test_a_live_connection_is_taken_over(site: Site, bystander: Peer) -> None:
    async with site.peer() as old, site.peer() as new:
        name = await begun(old)
        await resume(new, name, old.welcome["resume_token"])
        await new.hear("resumed")
        assert (await old.error("session_replaced"))["stream"] == 1
        assert await old.closed() == (4409, "session_replaced")
        await new.send(FRAME)
        assert (await new.frames(1))[0].payload == FRAME
        await new.say("stop", stream=1)


async def test_what_the_old_connection_sends_after_that_is_dropped(site: Site) -> None:
    async with site.peer() as old, site.peer() as new:
        name = await begun(old)
        await old.start("echo", stream=2)
        await resume(new, name, old.welcome["resume_token"])
        await new.hear("resumed")
        await old.send(FRAME, FRAME)
        await old.error("session_replaced")
        await old.send(FRAME, stream=2, seq=0)
        assert (await old.frames(1))[0].stream == 2
        entries = await site.bus.logs.read(StreamKey("default", name), Direction.UP)
        assert list(entries) == []
        await new.say("stop", stream=1)
        await old.say("stop", stream=2)


async def test_who_was_cut_off_before_it_learnt_of_its_stream_starts_it_again(site: Site) -> None:
    name = fresh_id()
    async with site.peer() as peer:
        await peer.say("stream_start", stream=1, stream_id=name, task="echo")
        await peer.send(FRAME, FRAME)
        peer.wire.transport.abort()
    await eventually(lambda: site.server.open_connections == 0)
    async with site.peer() as new:
        await new.start("echo", stream_id=name)
        await new.send(FRAME, FRAME, FRAME)
        assert [frame.seq for frame in await new.frames(3)] == [0, 1, 2]
        await new.say("stop", stream=1)


async def test_a_transcript_is_the_same_however_often_it_is_cut(site: Site) -> None:
    audio = [bytes([index % 251]) * 640 for index in range(150)]
    whole = await transcribed(site, audio, cuts=())
    assert whole
    assert await transcribed(site, audio, cuts=(20, 77, 78, 149)) == whole


async def transcribed(site: Site, audio: list[bytes], cuts: tuple[int, ...]) -> str:
    """The final text of audio sent over connections that are cut before these frames."""
    finals: dict[int, str] = {}
    edges = [0, *cuts, len(audio)]
    name, token, held = "", "", -1
    for start, end in itertools.pairwise(edges):
        async with site.peer() as peer:
            first = start
            if name:
                await resume(peer, name, token, received=held)
                first = (await peer.hear("resumed"))["received_seq"] + 1
            else:
                name = await begun(peer, "recognize", engine="tone")
            token = peer.welcome["resume_token"]
            await peer.say("ack", stream=1, received_seq=held)
            await peer.send(*audio[first:end], seq=first)
            if end == len(audio):
                await peer.entry("stream_end")
                held = await gather(peer, finals, "stream_end")
                await peer.say("ack", stream=1, received_seq=held)
                break
            await asyncio.sleep(0.05)
            peer.wire.transport.abort()
    return " ".join(finals[seq] for seq in sorted(finals))


async def gather(peer: Peer, finals: dict[int, str], last: str) -> int:
    """Collect final texts up to a message of kind `last`; return its number."""
    while True:
        message = await peer.next()
        assert isinstance(message, dict)
        if message["type"] == "transcript" and message["kind"] == "final":
            finals[message["seq"]] = message["text"]
        if message["type"] == last:
            return int(message["seq"])
