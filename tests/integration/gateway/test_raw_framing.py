"""Bare PCM, as a ten-line script sends it."""

import json

import pytest

from tests.integration.gateway.test_connections import resident_bytes
from tests.integration.gateway.wire import FRAME, Peer, Site, eventually, fresh_id

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]


def start(task: str, **fields: object) -> str:
    return json.dumps(
        {"type": "stream_start", "stream_id": fresh_id(), "task": task, "framing": "raw", **fields}
    )


async def bare(peer: Peer) -> bytes:
    """The next audio."""
    while not isinstance(message := await peer.wire.recv(), bytes):
        pass
    return message


async def test_an_echo_of_bare_pcm(site: Site) -> None:
    async with site.peer(hello=False, subprotocols=None) as peer:
        await peer.wire.send(start("echo"))
        assert (await peer.hear("stream_started"))["resumable"] is False
        await peer.wire.send(FRAME)
        assert await bare(peer) == FRAME
        await peer.say("finalize")
        await peer.say("stream_end")
        end = await peer.hear("stream_end")
        assert end["samples"] == 320
        assert (await peer.closed())[0] == 1000
    await eventually(lambda: site.server.open_streams == 0)


async def test_text_in_and_bare_pcm_out(site: Site) -> None:
    async with site.peer(hello=False) as peer:
        await peer.wire.send(start("synthesize", sample_rate=8_000))
        await peer.say("text", text="hello")
        await peer.say("finalize")
        await peer.say("stream_end")
        pcm, kinds = 0, []
        while "stream_end" not in kinds:
            message = await peer.wire.recv()
            if isinstance(message, bytes):
                pcm += len(message)
            else:
                kinds.append(json.loads(message)["type"])
        assert pcm == 5 * 800  # 50 ms a letter
        assert kinds.count("utterance_end") == 1


async def test_five_minutes_at_once_neither_fail_nor_fill_memory(
    site: Site, bystander: Peer
) -> None:
    async with site.peer(hello=False) as peer:
        await peer.wire.send(start("recognize", engine="tone", sample_rate=8_000))
        before = resident_bytes()
        for _ in range(300 * 16_000 // 160_000):
            await peer.wire.send(bytes(160_000))
        await peer.say("finalize")
        await peer.say("stream_end")
        await peer.hear("stream_end")
        assert resident_bytes() - before < 32 << 20


async def test_messages_of_any_size_carry_the_same_audio(site: Site) -> None:
    texts = set()
    audio = bytes(range(250)) * 512
    for size in (640, 250, 64_000, 128_000):
        async with site.peer(hello=False) as peer:
            await peer.wire.send(start("recognize", engine="tone"))
            for at in range(0, len(audio), size):
                await peer.wire.send(audio[at : at + size])
            await peer.say("finalize")
            await peer.say("stream_end")
            texts.add(await final(peer))
    assert len(texts) == 1


async def final(peer: Peer) -> str:
    """All final text up to the end."""
    text = ""
    while True:
        message = await peer.next()
        assert isinstance(message, dict)
        if message["type"] == "transcript" and message["kind"] == "final":
            text += message["text"]
        if message["type"] == "stream_end":
            return text


async def test_ragged_audio_is_refused(site: Site, bystander: Peer) -> None:
    async with site.peer(hello=False) as peer:
        await peer.wire.send(start("recognize", engine="tone"))
        await peer.wire.send(b"odd")
        await peer.error("bad_audio")
        assert (await peer.closed())[0] == 1000


async def test_a_raw_stream_may_come_after_hello(site: Site) -> None:
    async with site.peer() as peer:
        await peer.wire.send(start("echo"))
        await peer.hear("stream_started")
        await peer.wire.send(FRAME)
        assert await bare(peer) == FRAME


async def test_a_raw_connection_has_one_stream(site: Site) -> None:
    async with site.peer(hello=False) as peer:
        await peer.wire.send(start("echo"))
        await peer.hear("stream_started")
        await peer.say("stream_start", stream=2, stream_id="second", task="echo")
        await peer.error("unexpected_message")
        await peer.wire.send(FRAME)
        assert await bare(peer) == FRAME


async def test_who_is_refused_may_ask_again(site: Site) -> None:
    async with site.peer(hello=False) as peer:
        await peer.wire.send(start("recognize", engine="nobody"))
        await peer.error("unknown_engine")
        await peer.wire.send(start("recognize", engine="tone"))
        await peer.hear("stream_started")


async def test_only_pcm_is_bare(site: Site) -> None:
    async with site.peer(hello=False) as peer:
        await peer.wire.send(start("recognize", codec="opus"))
        await peer.error("unsupported_format")
