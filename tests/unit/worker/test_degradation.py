"""From an engine that has too many streams to the client that is told."""

import asyncio
import queue
from collections.abc import Iterable, Iterator

import pytest

from legato.audio import AudioChunk
from legato.engines.base import Checkpoint, EngineInfo, EngineKind
from legato.protocol.messages import Notice
from legato.speech import RecognitionRequest, Transcript
from legato.worker.board import NoBoard
from legato.worker.calls import EngineCall, Request
from legato.worker.frames import CallOutput, Degraded, EndInput, Feed, Finished, Heard, Listen
from legato.worker.line import Queued
from legato.worker.pool import EnginePool
from legato.worker.service import service_for
from legato.worker.turns import Caller
from tests.unit.worker.stage import TONE_RECOGNIZER, Running, Stage, eventually
from tests.unit.worker.test_recognition import AUDIO, noise, recognition

LISTENER = EngineInfo(name="fake", kind=EngineKind.RECOGNIZE, version="1", format=AUDIO)


class FakeListener:
    """Is strained from its second chunk on, until its fourth."""

    info = LISTENER

    def __init__(self) -> None:
        self.chunks = 0

    @property
    def degraded(self) -> bool:
        return 2 <= self.chunks < 4

    def load(self) -> None:
        return

    def close(self) -> None:
        return

    def recognize(
        self, request: RecognitionRequest, audio: Iterable[AudioChunk]
    ) -> Iterator[Transcript | Checkpoint]:
        for _ in audio:
            self.chunks += 1
            yield Transcript(text=str(self.chunks), final=False)


def test_an_engine_that_is_strained_is_told_once_before_what_it_says_then() -> None:
    sent: queue.SimpleQueue[CallOutput] = queue.SimpleQueue()
    listen = Listen(3, 0, RecognitionRequest(format=AUDIO))
    service = service_for(listen, FakeListener(), board=NoBoard(1), send=sent.put)
    service.start()
    for _ in range(5):
        service.deliver(Feed(3, pcm=bytes(320)))
    service.deliver(EndInput(3))
    outputs: list[CallOutput] = []
    while Finished(3) not in outputs:
        outputs.append(sent.get(timeout=20))
    told = [one for one in outputs if isinstance(one, Degraded | Heard)]
    texts = [one.transcript.text if isinstance(one, Heard) else one.active for one in told]
    assert texts == ["1", True, "2", "3", False, "4", "5"]


def noted(pool: EnginePool, patch: pytest.MonkeyPatch) -> list[EngineCall]:
    """Return the list of the calls that are opened from now on."""
    calls: list[EngineCall] = []
    open_call = pool.open

    async def noting(request: Request, *, caller: Caller, queued: Queued) -> EngineCall:
        calls.append(await open_call(request, caller=caller, queued=queued))
        return calls[-1]

    patch.setattr(pool, "open", noting)
    return calls


def news(stage: Stage) -> list[str]:
    return [item.kind for item in stage.down if isinstance(item, Notice)]


async def test_a_client_is_told_of_the_strain_and_of_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stage = await Stage.open("recognize")
    async with Running(TONE_RECOGNIZER) as (pool,):
        calls = noted(pool, monkeypatch)
        task = asyncio.create_task(recognition(stage, pool).run())
        stage.frames_of(noise(0.5))
        await stage.until(lambda s: s.texts)
        (call,) = calls
        for active in (True, True, False):
            call.receive(Degraded(call.number, active))
        await stage.until(lambda s: len(news(s)) == 2)
        stage.end()
        await asyncio.wait_for(task, 20)
    assert news(stage) == ["degraded", "restored"]


async def test_who_goes_on_with_another_call_is_told_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = await Stage.open("recognize")
    async with Running(TONE_RECOGNIZER) as (pool,):
        calls = noted(pool, monkeypatch)
        task = asyncio.create_task(recognition(stage, pool, idle_release=0.02).run())
        stage.frames_of(noise(0.5))
        await stage.until(lambda s: s.texts)
        (call,) = calls
        call.receive(Degraded(call.number, True))
        await stage.until(lambda s: news(s) == ["degraded"])
        await eventually(lambda: call.finished)
        stage.frames_of(noise(0.5, seed=2))
        await stage.until(lambda s: news(s) == ["degraded", "restored"])
        stage.end()
        await asyncio.wait_for(task, 20)
