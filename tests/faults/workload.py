"""Streams whose right result is known: what they ask for follows from a seed, paced like speech."""

from __future__ import annotations

import asyncio
import random
import zlib
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import numpy as np

import legato
from legato.errors import LegatoError
from legato.protocol.messages import Notice
from tests.faults.checker import Reference
from tests.faults.history import History

T = TypeVar("T")
Task = Literal["echo", "synthesize", "recognize"]

RATES = {"echo": 16_000, "synthesize": 24_000, "recognize": 16_000}
FRAME = 0.02
CHARACTER = 0.05
"""Seconds that `tone` gives to a character."""

PIECE_CHARS = 6
GRACE = 20.0
"""Seconds that a stream may take beyond its length before its end is called unknown."""

WORDS = ["ba", "di", "fo", "gu", "ka", "lem", "mino", "tarsa", "vel", "zo"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One stream.

    Args:
        task: What it does.
        variant: Decides what is said.
        duration: Seconds of audio.
        engine: Name, or None for the server's choice.
        paced: In real time; else as fast as it goes.
        bystander: Whether the case must leave it alone.
        poison: What makes `obedient` or `attentive` misbehave half-way, or nothing.
        spoilt: What becomes of one frame, or piece of text, on its way to the client: a planted
            fault that the checker must find.
    """

    task: Task
    variant: int = 0
    duration: float = 3.0
    engine: str | None = None
    paced: bool = True
    bystander: bool = False
    poison: Literal["", "abort", "hold"] = ""
    spoilt: Literal["", "lost", "doubled"] = ""

    @property
    def rate(self) -> int:
        """Hz, of either direction."""
        return RATES[self.task]


def mixed(variant: int, *, duration: float = 3.0, engines: bool = False) -> list[Plan]:
    """One plan of each task; with `engines` also those in engine processes."""
    plans = [
        Plan(task="echo", variant=variant, duration=duration),
        Plan(task="synthesize", variant=variant, duration=duration),
        Plan(task="recognize", variant=variant, duration=duration),
    ]
    if engines:
        plans += [
            replace(plans[1], engine="obedient"),
            replace(plans[2], engine="attentive"),
        ]
    return plans


def pcm_of(plan: Plan) -> bytes:
    """Noise, below the loudness that means something to `attentive`."""
    samples = round(plan.duration * plan.rate)
    noise = np.random.default_rng(plan.variant).integers(-8_000, 8_000, samples)
    pcm = bytearray(noise.astype("<i2").tobytes())
    if plan.poison:
        middle = len(pcm) // 1_280 * 640
        pcm[middle : middle + 640] = {"abort": b"\xff\x7f", "hold": b"\x00\x80"}[plan.poison] * 320
    return bytes(pcm)


def text_of(plan: Plan) -> str:
    """Sentences that take about the plan's duration."""
    rng, chars = random.Random(plan.variant), round(plan.duration / CHARACTER)
    sentences: list[str] = []
    while sum(len(sentence) + 1 for sentence in sentences) < chars:
        words = " ".join(rng.choice(WORDS) for _ in range(rng.randint(2, 5)))
        sentences.append(words.capitalize() + ".")
    if plan.poison:
        sentences.insert(len(sentences) // 2, plan.poison.capitalize() + f" {plan.poison}.")
    return " ".join(sentences)


async def paced(pieces: Iterable[tuple[float, T]], *, real: bool) -> AsyncIterator[T]:
    """Give each piece when its time has come, counted from the first."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    for due, piece in pieces:
        if real and (wait := began + due - loop.time()) > 0:
            await asyncio.sleep(wait)
        yield piece


def spoil(parts: list[tuple[float, T]], plan: Plan) -> list[tuple[float, T]]:
    """Lose or double one part in the middle, if the plan says so."""
    at = len(parts) // 2
    count = {"": 1, "lost": 0, "doubled": 2}[plan.spoilt]
    return [*parts[:at], *parts[at : at + 1] * count, *parts[at + 1 :]]


async def frames(plan: Plan) -> AsyncIterator[bytes]:
    """The audio in frames of 20 ms, when they are due."""
    pcm, size = pcm_of(plan), round(FRAME * plan.rate) * 2
    parts = [(i / size * FRAME, pcm[i : i + size]) for i in range(0, len(pcm), size)]
    async for frame in paced(spoil(parts, plan), real=plan.paced):
        yield frame


async def pieces(plan: Plan) -> AsyncIterator[str]:
    """The text in pieces, as fast as it is spoken."""
    text = text_of(plan)
    parts = [(i * CHARACTER, text[i : i + PIECE_CHARS]) for i in range(0, len(text), PIECE_CHARS)]
    async for piece in paced(spoil(parts, plan), real=plan.paced):
        yield piece


class Speaker:
    """A client's end of one stream: runs it and writes down what comes.

    Args:
        client: Connected to the system.
        plan: What to do.
        history: Where it is told.
        stream_id: Its name there and on the wire.

    Attributes:
        pcm: All audio that came.
        finals: All finals that came.
    """

    def __init__(
        self, client: legato.Client, plan: Plan, history: History, *, stream_id: str
    ) -> None:
        self._client = client
        self.plan = plan
        self._history = history
        self.stream_id = stream_id
        self.pcm = bytearray()
        self.finals: list[tuple[object, ...]] = []
        self._began = 0.0

    async def run(self, grace: float = GRACE) -> None:
        """Run the stream to its end; whatever that is, it is told."""
        plan = self.plan
        self._say("stream", "invoke", task=plan.task, bystander=plan.bystander)
        try:
            async with asyncio.timeout(plan.duration + grace):
                intact = await self._talk()
        except TimeoutError:
            self._say("stream", "info", reason="no end in time")
        except LegatoError as error:
            self._say("stream", "fail", code=error.code, message=str(error))
        else:
            if plan.task != "synthesize":
                self._say("taken", "ok", upto=round(plan.duration * plan.rate))
            self._say("stream", "ok", intact=intact)

    async def _talk(self) -> bool:
        self._began = asyncio.get_running_loop().time()
        plan, client, name = self.plan, self._client, self.stream_id
        if plan.task == "recognize":
            audio = frames(plan)
            listening = client.listen(
                audio, engine=plan.engine, sample_rate=plan.rate, stream_id=name
            )
            listening.on_notice = self._noticed
            async with listening:
                async for transcript in listening:
                    self._heard(transcript)
            return listening.intact
        exchange: legato.Speech | legato.Echo
        if plan.task == "echo":
            exchange = client.echo(frames(plan), sample_rate=plan.rate, stream_id=name)
        else:
            exchange = client.speak(
                pieces(plan), engine=plan.engine, sample_rate=plan.rate, stream_id=name
            )
        exchange.on_notice = self._noticed
        async with exchange:
            async for chunk in exchange:
                self._played(chunk)
        return exchange.intact

    def _played(self, chunk: legato.AudioChunk) -> None:
        self.pcm += chunk.pcm
        facts: dict[str, object] = {
            "sample": chunk.sample,
            "samples": chunk.samples,
            "crc": zlib.crc32(chunk.pcm),
        }
        if self.plan.task == "echo" and self.plan.paced:
            due = self._began + chunk.sample / self.plan.rate
            facts["lag"] = round(asyncio.get_running_loop().time() - due, 4)
        self._say("audio", "ok", **facts)

    def _heard(self, transcript: legato.Transcript) -> None:
        if not transcript.final:
            self._say("partial", "ok")
            return
        words = [[word.text, word.start, word.end] for word in transcript.words]
        told = {"text": transcript.text, "start": transcript.start, "end": transcript.end}
        self.finals.append((*told.values(), tuple(tuple(word) for word in words)))
        self._say("final", "ok", **told, words=words)

    def _noticed(self, notice: Notice) -> None:
        self._say("notice", "ok", kind=notice.kind)

    def _say(self, op: str, type: Literal["invoke", "ok", "fail", "info"], **facts: object) -> None:  # noqa: A002  (its name in every history)
        self._history.record("client", op, type, stream=self.stream_id, **facts)


async def undisturbed(url: str, plans: Sequence[Plan], *, prefix: str) -> dict[Plan, Reference]:
    """Run each plan once, while nothing is wrong, as fast as it goes.

    Raises:
        RuntimeError: If one of them does not end well.
    """
    history, found = History(), {}
    async with legato.connect(url) as client:
        speakers = [
            Speaker(client, replace(plan, paced=False), history, stream_id=f"{prefix}-{number}")
            for number, plan in enumerate(plans)
        ]
        await asyncio.gather(*(speaker.run() for speaker in speakers))
    failed = [e.line() for e in history if e.op == "stream" and e.type in ("fail", "info")]
    if failed:
        raise RuntimeError(f"undisturbed streams fail: {failed}")
    for plan, speaker in zip(plans, speakers, strict=True):
        found[plan] = Reference(pcm=bytes(speaker.pcm), finals=tuple(speaker.finals))
    return found
