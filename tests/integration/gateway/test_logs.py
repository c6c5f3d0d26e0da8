"""Nothing that was said, and no secret, in the logs or the metrics (R21)."""

import asyncio
import base64
import signal
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus
from websockets.typing import Origin

from tests.integration.gateway.wire import Peer
from tests.integration.processes import TONES, Process

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]

WORDS = "canarywords"
SECRETS = ("canarykey", "canaryticket", "canaryquery", "canarytoken", "canaryhello")
PCM = b"canarypcm!" * 64


@pytest.mark.parametrize("form", ["console", "json"])
async def test_neither_words_nor_keys_are_logged(tmp_path: Path, form: str) -> None:
    env = {**TONES, "LEGATO_LOG__FORMAT": form}
    flags = ("serve", "--port", "0", "--log-level", "debug")
    with Process(flags, cwd=tmp_path, env=env) as process:
        line = process.wait_for("listening on")
        url = next(word.rstrip(",") for word in line.split() if word.startswith("ws://"))
        process.wait_for("ready after")
        tokens = [await do_all_that_may_be_logged(url)]
        metrics = await asyncio.to_thread(fetch, url.replace("ws:", "http:") + "/metrics")
        process.process.send_signal(signal.SIGTERM)
        await asyncio.to_thread(process.process.wait, 10.0)
        written = "\n".join(process.said) + metrics
    assert "legato_connections" in metrics
    found = [canary for canary in (*canaries(), *tokens) if canary in written]
    assert found == []
    assert "Traceback" not in written


def canaries() -> Iterator[str]:
    yield WORDS
    yield from SECRETS
    yield "canarypcm"
    yield PCM.hex()[:40]
    yield base64.b64encode(PCM).decode()[:40]


async def do_all_that_may_be_logged(url: str) -> str:
    """Speak, listen, and do everything wrong; return the resume token."""
    headers = {"Authorization": "Bearer canarykey"}
    address = f"{url}/v1/stream?key=canaryquery"
    more: dict[str, Any] = {"subprotocols": ["legato.v1", "ticket.canaryticket"]}
    async with connect(address, additional_headers=headers, **more) as wire:
        peer = Peer(wire)
        await peer.say("hello", version=1, auth="canaryhello")
        welcome = await peer.hear("welcome")
        await peer.start("synthesize")
        await peer.entry("text", text=WORDS)
        await peer.entry("stream_end")
        await peer.hear("stream_end")
        fields = {"stream_id": "words", "stream": 5, "task": "recognize", "engine": "tone"}
        await peer.say("stream_start", **fields, hotwords=[WORDS])
        assert WORDS not in str(await peer.error("unsupported_option"))
        await peer.start("recognize", stream=2, engine="tone")
        await peer.send(PCM, stream=2, seq=0)
        await peer.entry("stream_end", stream=2)
        await peer.hear("stream_end")
        await peer.say("resume", stream=3, stream_id="none", token="canarytoken")
        await peer.error("session_expired")
        await peer.start("recognize", stream=4)
        await peer.send(PCM + b"x", stream=4, seq=0)
        await peer.error("bad_audio")
        for broken in (f'{{"type":"text","text":"{WORDS}"', f'{{"type":"{WORDS}"}}', PCM):
            await wire.send(broken)
            await peer.hear("error")
        await wire.send(f'{{"type":"text","seq":"{WORDS}"}}')
        await wire.send(f'{{"type":"text","stream":9,"seq":0,"text":"{WORDS}"}}')
        assert (await peer.closed())[0] == 4400
    with pytest.raises(InvalidStatus):
        await connect(f"{url}/canaryquery", origin=Origin("https://canaryquery.example"))
    await asyncio.to_thread(ask_badly, url)
    return str(welcome["resume_token"])


def ask_badly(url: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        fetch(url.replace("ws:", "http:") + "/canaryquery?key=canaryquery")
    caught.value.close()


def fetch(url: str) -> str:
    with urllib.request.urlopen(url, timeout=5.0) as answer:
        return str(answer.read().decode())
