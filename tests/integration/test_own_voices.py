"""A voice of one's own, from the command line to CosyVoice's server, through real processes."""

import asyncio
import io
import json
import re
import subprocess
import wave
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

import legato as legato_client
from tests.integration.processes import Process, run_legato
from tests.redis_server import RedisServer
from tests.standins.upstream.cosyvoice_http import CosyVoiceFastApi
from tests.unit.engines.upstream.stage import prompt
from tests.unit.gateway.recordings import coded, speech

pytestmark = [pytest.mark.integration, pytest.mark.requires("redis-server")]

NAME = "小明-private"
SAID = "A secret that is told to nobody."
TEXT = "Good morning. This is the second sentence of it."


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    server = RedisServer().start()
    yield server
    server.stop()


def role(name: str, redis: RedisServer, place: Path, *flags: str, **env: str) -> Process:
    args = (name, "--bus", redis.url, "--log-level", "debug", *flags)
    return Process(args, cwd=place, env=env)


def engines(place: Path, *urls: str) -> str:
    """The settings of a worker with CosyVoice's server as upstream."""
    options = {"urls": urls, "prompts": [prompt(place, "demo")], "streams": 2}
    engine = {"kind": "synthesize", "name": "cosyvoice-http", "options": options}
    return json.dumps([engine])


def url_of(process: Process) -> str:
    found = re.search(r"ws://[^\s,]+", process.wait_for("listening on"))
    assert found is not None
    return found[0]


def legato(place: Path, *args: str) -> Any:
    done = run_legato(*args, "--json", cwd=place)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def say(place: Path, url: str, *more: str) -> subprocess.CompletedProcess[bytes]:
    return run_legato("say", TEXT, "-o", "said.wav", "--url", url, *more, cwd=place)


async def refusal(url: str) -> str:
    """The code with which a stream in that voice is refused."""
    async with legato_client.connect(url) as client:
        with pytest.raises(legato_client.LegatoError) as caught:
            async for _ in client.speak(TEXT, voice=NAME):
                pass
    return caught.value.code


async def bring_again(url: str, file: Path) -> None:
    async with legato_client.connect(url) as client:
        await client.own_voices.add(NAME, file, consent=True)
        (voice,) = [voice for voice in await client.voices() if voice.own]
        assert (voice.name, voice.engine) == (NAME, "cosyvoice-http")


def samples(file: bytes) -> bytes:
    with wave.open(io.BytesIO(file)) as wav:
        assert (wav.getframerate(), wav.getnchannels()) == (24_000, 1)
        frames: bytes = wav.readframes(10_000_000)
        return frames


def test_a_voice_is_brought_spoken_with_and_erased(place: Path, redis: RedisServer) -> None:
    (place / "me.flac").write_bytes(coded(speech(6.0), "flac", "flac", 24_000))
    with ExitStack() as stack:
        server = stack.enter_context(closing(CosyVoiceFastApi()))
        gateways = [
            stack.enter_context(role("gateway", redis, place, "--port", "0")) for _ in range(2)
        ]
        settings = {
            "LEGATO_WORKER__ENGINES": engines(place, server.url),
            "LEGATO_WORKER__SYNTHESIZERS": '["cosyvoice-http"]',
        }
        worker = stack.enter_context(role("worker", redis, place, **settings))
        first, second = (url_of(process) for process in gateways)
        worker.wait_for("ready after")

        added = legato(
            place, "voices", "add", NAME, "me.flac", "--consent", "--text", SAID,
            "--language", "zh,en", "--gender", "male", "--url", first,
        )["voice"]  # fmt: skip
        assert (added["seconds"], added["usable"]) == (6.0, True)
        (listed,) = legato(place, "voices", "--url", second)["own"]
        assert listed == added

        done = say(place, second, "--voice", NAME)
        assert done.returncode == 0, done.stderr
        asked = [one for one in server.asked if one.path == "/inference_zero_shot"]
        assert len(asked) == 2  # a request for each sentence
        for one in asked:
            assert samples(one.files["prompt_wav"]) == speech(6.0).tobytes()
            assert one.fields["prompt_text"] == SAID
        assert len((place / "said.wav").read_bytes()) > 24_000

        assert legato(place, "voices", "remove", NAME, "--url", first)["erased"] == {"voices": 1}
        assert asyncio.run(refusal(second)) == "unknown_voice"
        asyncio.run(bring_again(first, place / "me.flac"))
        receipt = legato(place, "forget", "--tenant", "default", "--bus", redis.url)
        assert receipt["erased"]["voices"] == 1
        assert "prompt" not in redis.cli("--scan")
        for process in (*gateways, worker):
            told = " ".join(process.said)
            assert "secret" not in told
            assert "private" not in told
