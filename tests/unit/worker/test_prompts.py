import asyncio
from collections.abc import Collection

import pytest

from legato.audio import AudioFormat
from legato.bus.base import Job, StreamKey
from legato.bus.memory import MemoryBus
from legato.bus.voices import Consent, OwnVoice, OwnVoices, digest
from legato.errors import BusUnavailable
from legato.protocol.messages import StreamStart
from legato.speech.voices import VoicePrompt
from legato.worker import prompts as module
from legato.worker.prompts import KEPT, Prompts, StreamPrompt
from tests.unit.worker.stage import eventually

PCM = b"\x01\x02" * 1_000


class Scene:
    """A bus, and what engines are told to keep."""

    def __init__(self) -> None:
        self.bus = MemoryBus()
        self.voices = OwnVoices(self.bus)
        self.kept: list[Collection[str]] = []
        self.prompts = Prompts(self.bus, self.kept.append)
        self.reads = 0
        get = self.bus.blobs.get

        async def counted(tenant: str, name: str) -> bytes | None:
            self.reads += 1
            return await get(tenant, name)

        self.bus.blobs.get = counted  # type: ignore[method-assign]  # counted on its way

    async def add(self, name: str = "anna", pcm: bytes = PCM, *, text: str = "so") -> None:
        voice = OwnVoice(
            name=name,
            sample_rate=24_000,
            seconds=1.0,
            digest=digest(pcm),
            created=1.0,
            consent=Consent(statement="yes", given=1.0),
            text=text,
        )
        await self.voices.add("acme", voice, pcm)

    async def find(self, name: str = "anna", tenant: str = "acme") -> VoicePrompt | None:
        return await self.prompts.find(tenant, name)


def expected(name: str = "anna", pcm: bytes = PCM, text: str = "so") -> VoicePrompt:
    form = AudioFormat(24_000)
    return VoicePrompt(name=name, pcm=pcm, format=form, text=text, digest=digest(pcm))


async def test_a_recording_is_fetched_once() -> None:
    scene = Scene()
    await scene.add()
    for _ in range(3):
        assert await scene.find() == expected()
    assert scene.reads == 1


async def test_a_name_that_is_no_voice_of_the_tenant_is_none() -> None:
    scene = Scene()
    await scene.add()
    assert await scene.find("bob") is None
    assert await scene.find(tenant="other") is None


async def test_a_voice_that_was_removed_is_none_at_once() -> None:
    scene = Scene()
    await scene.add()
    await scene.find()
    await scene.voices.remove("acme", "anna")
    assert await scene.find() is None


async def test_a_voice_that_was_brought_again_is_the_new_one() -> None:
    scene = Scene()
    await scene.add()
    await scene.find()
    await scene.voices.remove("acme", "anna")
    await scene.add(text="other words")
    assert await scene.find() == expected(text="other words")


async def test_a_voice_whose_recording_is_gone_is_none() -> None:
    scene = Scene()
    await scene.add()
    for name in await scene.bus.blobs.list("acme"):
        await scene.bus.blobs.delete("acme", name)
    assert await scene.find() is None


async def test_the_recordings_used_last_are_kept() -> None:
    scene = Scene()
    names = [f"v{number}" for number in range(KEPT + 1)]
    for name in names:
        await scene.add(name)
        await scene.find(name)
    scene.reads = 0
    for name in names[1:]:
        await scene.find(name)
    assert scene.reads == 0
    await scene.find(names[0])
    assert scene.reads == 1


async def test_engines_forget_what_was_removed() -> None:
    scene = Scene()
    for name in ("anna", "bob"):
        await scene.add(name, name.encode() * 100)
        await scene.find(name)
    await scene.prompts.look()
    assert scene.kept[-1] == {digest(b"anna" * 100), digest(b"bob" * 100)}
    await scene.voices.remove("acme", "anna")
    await scene.prompts.look()
    assert scene.kept[-1] == {digest(b"bob" * 100)}
    scene.reads = 0
    await scene.find("bob")
    assert scene.reads == 0


async def test_a_bus_that_is_away_is_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOK_EVERY", 0.0)
    scene = Scene()
    await scene.add()
    await scene.find()
    turns: list[int] = []
    get = scene.bus.registry.get

    async def away_once(*arguments: str) -> object:
        turns.append(1)
        if len(turns) == 1:
            raise BusUnavailable
        return await get(*arguments)

    scene.bus.registry.get = away_once  # type: ignore[method-assign, assignment]  # a bus that fails
    looking = asyncio.create_task(scene.prompts.run())
    await eventually(lambda: bool(scene.kept))
    looking.cancel()
    assert scene.kept[0] == {digest(PCM)}


def job(voice: str | None) -> Job:
    start = StreamStart(stream_id="s", task="synthesize", voice=voice)
    return Job(key=StreamKey("acme", "s"), engine="cosyvoice", start=start)


async def test_a_stream_keeps_its_voice_to_its_end() -> None:
    scene = Scene()
    await scene.add()
    stream = StreamPrompt(scene.prompts, job("anna"))
    assert await stream.get() == expected()
    await scene.voices.remove("acme", "anna")
    assert await stream.get() == expected()
    other = StreamPrompt(scene.prompts, job("anna"))
    assert await other.get() is None
    await scene.add()
    assert await other.get() is None


@pytest.mark.parametrize("voice", [None, "heart"])
async def test_a_stream_with_an_engine_s_voice_has_none(voice: str | None) -> None:
    scene = Scene()
    await scene.add()
    assert await StreamPrompt(scene.prompts, job(voice)).get() is None
    assert await StreamPrompt(None, job(voice)).get() is None
