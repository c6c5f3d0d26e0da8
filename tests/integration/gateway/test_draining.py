"""A gateway that goes away in good order."""

import asyncio
import signal
import time
import urllib.error
import urllib.request
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from tests.integration.gateway.wire import FRAME, Peer, eventually, serving
from tests.integration.processes import TONES, running_server

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]


async def test_open_streams_end_and_nothing_new_begins() -> None:
    async with serving(drain_timeout=10.0) as site, site.peer() as peer, site.peer() as idle:
        await peer.start("echo")
        began = time.monotonic()
        stopping = asyncio.create_task(site.server.stop())
        assert (await peer.hear("draining"))["deadline"] == 10.0
        assert (await idle.hear("draining"))["resume_token"] == idle.welcome["resume_token"]
        await peer.say("stream_start", stream=2, stream_id="late", task="echo")
        assert (await peer.error("draining"))["retryable"] is True
        with pytest.raises(InvalidStatus) as caught:
            async with site.peer():
                pass
        assert caught.value.response.status_code == 503
        await peer.send(FRAME)
        assert (await peer.frames(1))[0].payload == FRAME
        await peer.entry("stream_end")
        end = await peer.hear("stream_end")
        await peer.say("ack", stream=1, received_seq=end["seq"])
        assert await peer.closed() == (1012, "draining")
        assert await idle.closed() == (1012, "draining")
        await stopping
        assert time.monotonic() - began < 5.0
        assert site.is_empty()


async def test_what_does_not_end_in_time_is_cut() -> None:
    async with serving(drain_timeout=0.3) as site, site.peer() as peer:
        await peer.start("echo")
        began = time.monotonic()
        stopping = asyncio.create_task(site.server.stop())
        assert await peer.closed() == (1012, "draining")
        await stopping
        assert 0.2 < time.monotonic() - began < 3.0
        await eventually(site.is_empty)


async def test_streams_that_wait_for_their_client_hold_nothing_up() -> None:
    async with serving(drain_timeout=10.0) as site:
        async with site.peer() as peer:
            await peer.start("echo")
        await eventually(lambda: site.server.open_connections == 0)
        began = time.monotonic()
        await site.server.stop()
        assert time.monotonic() - began < 3.0
        await eventually(site.is_empty)


async def test_a_stop_that_is_called_off_is_followed_by_a_quick_one() -> None:
    async with serving(drain_timeout=30.0) as site, site.peer() as peer:
        await peer.start("echo")
        slow = asyncio.create_task(site.server.stop())
        await peer.hear("draining")
        slow.cancel()
        began = time.monotonic()
        await site.server.stop(drain=False)
        assert time.monotonic() - began < 3.0
        assert await peer.closed() == (1012, "draining")


async def test_sigterm_lets_streams_end_and_exits_with_0(tmp_path: Path) -> None:
    with running_server(cwd=tmp_path, env=TONES) as server:
        async with AsyncExitStack() as stack:
            peer = Peer(await stack.enter_async_context(connect(f"{server.url}/v1/stream")))
            await peer.greet()
            await peer.start("echo")
            server.process.process.send_signal(signal.SIGTERM)
            await peer.hear("draining")
            with pytest.raises(urllib.error.HTTPError) as caught:
                await asyncio.to_thread(get, server.url.replace("ws:", "http:") + "/readyz")
            assert (caught.value.code, caught.value.read()) == (503, b"draining\n")
            caught.value.close()
            await peer.entry("stream_end")
            end = await peer.hear("stream_end")
            await peer.say("ack", stream=1, received_seq=end["seq"])
            assert (await peer.closed())[0] == 1012
        assert await asyncio.to_thread(server.process.process.wait, 10.0) == 0


async def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    env = {**TONES, "LEGATO_GATEWAY__DRAIN_TIMEOUT": "60"}
    with running_server(cwd=tmp_path, env=env) as server:
        async with connect(f"{server.url}/v1/stream") as wire:
            peer = Peer(wire)
            await peer.greet()
            await peer.start("echo")
            began = time.monotonic()
            server.process.process.send_signal(signal.SIGTERM)
            await peer.hear("draining")
            server.process.process.send_signal(signal.SIGTERM)
            assert (await peer.closed())[0] == 1012
        assert await asyncio.to_thread(server.process.process.wait, 10.0) == 0
        assert time.monotonic() - began < 8.0


def get(url: str) -> None:
    urllib.request.urlopen(url, timeout=5.0).close()
