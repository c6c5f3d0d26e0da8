"""The client for browsers, in Node, against a real server and over connections that are cut."""

import asyncio
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import legato
from tests.architecture.checkout import ROOT
from tests.cutter import Cut, Cutter, Direction
from tests.integration.processes import Server
from tests.integration.test_client_server import noise, started

pytestmark = [pytest.mark.integration, pytest.mark.requires("node", "web packages")]

WEB = ROOT / "web"
CORE = WEB / "src" / "core"
DRIVER = Path(__file__).with_name("typescript_client.mjs")
TEXT = " ".join(f"Sentence number {number} is not very long." for number in range(6))
TIMEOUT = 20.0

Came = dict[str, Any]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of somebody who has installed the client."""
    folder = tmp_path_factory.mktemp("project")
    package = folder / "node_modules" / "@legato" / "client"
    package.mkdir(parents=True)
    (folder / "node_modules" / "@noble").symlink_to(WEB / "node_modules" / "@noble")
    vite = WEB / "node_modules" / "vite" / "bin" / "vite.js"
    subprocess.run(
        [
            "node",
            vite,
            "build",
            "-c",
            CORE / "vite.config.ts",
            "--configLoader",
            "runner",
            "--outDir",
            package / "dist",
        ],
        cwd=WEB,
        check=True,
        capture_output=True,
        timeout=60,
    )
    shutil.copy(CORE / "package.json", package)
    shutil.copy(DRIVER, folder)
    return folder


def port_of(server: Server) -> int:
    port = urlsplit(server.url).port
    assert port is not None
    return port


async def node(place: Path, *command: str) -> str:
    """Run a program and return what it prints."""
    process = await asyncio.create_subprocess_exec(
        *("node", "--experimental-websocket", "--no-warnings", *command),
        cwd=place,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        out, _ = await asyncio.wait_for(process.communicate(), TIMEOUT)
    finally:
        if process.returncode is None:
            process.kill()
    assert process.returncode == 0
    return out.decode()


async def run(place: Path, url: str, task: str, given: str, *, pace: float = 20.0) -> Came:
    """Let the client do something to its end."""
    came: Came = json.loads(await node(place, DRIVER.name, url, task, given, str(pace)))
    return came


async def cut_at_random(cutter: Cutter, chance: random.Random, *, most: int) -> None:
    """Cut again and again, in the middle of whatever comes down."""
    while True:
        cutter.happened.clear()
        cutter.cut_after(
            chance.randint(100, most), Direction.DOWN, chance.choice((Cut.RESET, Cut.CLOSE))
        )
        await cutter.happened.wait()


async def test_speech_is_the_same_to_the_sample_when_it_is_cut(
    place: Path, tone_server: Server
) -> None:
    async with legato.connect(tone_server.url) as client:
        speech = client.speak(TEXT, sample_rate=16_000, pace=20)
        undisturbed = b"".join([chunk.pcm async for chunk in speech])

    async with Cutter(port_of(tone_server)) as cutter:
        cuts = asyncio.create_task(
            cut_at_random(cutter, random.Random(4), most=len(undisturbed) // 4)
        )
        came = await run(place, cutter.url, "speak", TEXT)
        cuts.cancel()

    assert "failure" not in came, came
    assert came["sha256"] == hashlib.sha256(undisturbed).hexdigest()
    assert came["verified"]
    assert came["ends"] == ["done"]
    assert cutter.cuts >= 3
    assert 0 < came["resumes"] <= cutter.cuts
    assert came["states"][:2] == ["connecting", "open"]
    assert "recovering" in came["states"]
    assert came["states"][-1] == "closed"


async def test_an_echo_is_the_same_to_the_sample_when_it_is_cut(
    place: Path, tone_server: Server, tmp_path: Path
) -> None:
    pcm = noise(6.0)
    (tmp_path / "noise.raw").write_bytes(pcm)

    async with Cutter(port_of(tone_server)) as cutter:
        cutter.cut_after(100_000, Direction.UP)
        cuts = asyncio.create_task(cut_at_random(cutter, random.Random(5), most=len(pcm) // 4))
        came = await run(place, cutter.url, "echo", str(tmp_path / "noise.raw"))
        cuts.cancel()

    assert "failure" not in came, came
    assert came["sha256"] == hashlib.sha256(pcm).hexdigest()
    assert came["verified"]
    assert came["up"] == {"frames": 300, "samples": 96_000, "digest": came["digest"]["theirs"]}
    assert cutter.cuts >= 3


async def test_the_same_is_heard_when_the_line_is_cut(
    place: Path, tone_server: Server, tmp_path: Path
) -> None:
    async with legato.connect(tone_server.url) as client:
        speech = client.speak(TEXT, sample_rate=16_000, pace=50)
        pcm = b"".join([chunk.pcm async for chunk in speech])
        undisturbed = [said.text async for said in client.listen([pcm]) if said.final]
    (tmp_path / "speech.raw").write_bytes(pcm)

    async with Cutter(port_of(tone_server)) as cutter:
        cutter.cut_after(100_000, Direction.UP)  # later than what goes before the welcome comes
        came = await run(place, cutter.url, "hear", str(tmp_path / "speech.raw"))

    assert "failure" not in came, came
    assert undisturbed
    assert came["finals"] == undisturbed
    assert (cutter.cuts, came["connections"]) == (1, 2)


async def test_a_server_that_forgot_the_stream_is_told_where_it_stands(
    place: Path, tmp_path: Path
) -> None:
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(started(tmp_path))
        async with legato.connect(server.url) as client:
            speech = client.speak(TEXT, sample_rate=16_000, pace=50)
            undisturbed = b"".join([chunk.pcm async for chunk in speech])
        speaking = asyncio.create_task(run(place, server.url, "speak", TEXT, pace=2.0))
        await asyncio.sleep(1.5)  # so long that some of it has come, and not all
        os.killpg(server.process.pid, signal.SIGKILL)
        port = server.url.rpartition(":")[2]
        await stack.enter_async_context(started(tmp_path, port=port))
        came = await speaking

    assert "failure" not in came, came
    assert came["sha256"] == hashlib.sha256(undisturbed).hexdigest()
    assert came["verified"]
    assert came["frames"] * 640 < len(undisturbed)  # those of the last epoch
    assert came["ends"] == ["done"]


async def test_the_example_of_the_readme_speaks(place: Path, tone_server: Server) -> None:
    readme = (CORE / "README.md").read_text(encoding="utf-8")
    examples = re.findall(r"```js\n(.*?)```", readme, re.DOTALL)
    script = examples[0].replace("ws://127.0.0.1:8440", tone_server.url)
    (place / "example.mjs").write_text(script, encoding="utf-8")

    lines = (await node(place, "example.mjs")).splitlines()

    assert re.fullmatch(r"\d+ samples at 0", lines[0])
    assert re.fullmatch(r"\d+ true", lines[-1])
