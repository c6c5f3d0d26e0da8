"""Synthesis: how long until the first sample is there."""

from __future__ import annotations

from time import perf_counter

import legato
from legato.bench.benchmark import Benchmark, Setup
from legato.bench.process import legato_server
from legato.bench.row import Figure, Row
from legato.client.client import Client

RUNS = 100
WARM_UP_RUNS = 5
PACE = 1000.0
"""The rest of the audio is fetched at once, so that the engine is at rest before the next run."""

SENTENCES = (
    (
        "The old harbour was quiet that morning, and only two gulls were walking slowly"
        " along the wall beside the sleeping boats."
    ),
    (
        "Please remember to bring your passport, your ticket and a warm coat, because the"
        " mountains are cold even in late June."
    ),
    (
        "When the rain stopped at last, the children ran into the garden and counted"
        " every snail they could find there today."
    ),
    (
        "Our next train to the city leaves from platform nine in twelve minutes, and"
        " there will be plenty of seats left."
    ),
    (
        "She opened the letter with shaking hands, read it twice by the window, and then"
        " laughed louder than in many years."
    ),
)
"""Of 21 words each."""

P50 = Figure("speak.first_audio.p50", "s", 0.090)
P99 = Figure("speak.first_audio.p99", "s", 0.200)
CACHED_P50 = Figure("speak.cached.p50", "s", 0.020)
CACHED_P99 = Figure("speak.cached.p99", "s", 0.100)


async def measure(setup: Setup) -> list[Row]:
    """Have sentences spoken one after the other on an open connection."""
    runs = setup.times(RUNS, 5)
    took = []
    async with legato_server() as running, legato.connect(running.url) as client:
        for number in range(WARM_UP_RUNS + runs):
            setup.tell(f"run {number} of {WARM_UP_RUNS + runs}")
            sentence = SENTENCES[number % len(SENTENCES)]
            first = await first_audio(client, sentence, cache=False)
            if number >= WARM_UP_RUNS:
                took.append(first)
    note = (
        f"from the call on an open connection to the first sample; {len(SENTENCES)} sentences of"
        " 21 words by turns, one stream at a time"
    )
    return [P50.of(took, 0.5, note=note), P99.of(took, 0.99, note=note)]


async def measure_cached(setup: Setup) -> list[Row]:
    """Have the same sentences spoken again and again, with the worker's cache on."""
    runs = setup.times(RUNS, 5)
    took = []
    async with legato_server() as running, legato.connect(running.url) as client:
        for number in range(len(SENTENCES) + runs):
            setup.tell(f"run {number} of {len(SENTENCES) + runs}")
            first = await first_audio(client, SENTENCES[number % len(SENTENCES)], cache=True)
            if number >= len(SENTENCES):
                took.append(first)
    note = f"as above, of {len(SENTENCES)} sentences that were spoken before"
    return [CACHED_P50.of(took, 0.5, note=note), CACHED_P99.of(took, 0.99, note=note)]


async def first_audio(client: Client, text: str, *, cache: bool) -> float:
    """Return the seconds until the first sample of `text`, once all of it has come.

    Args:
        client: Connected.
        text: To say.
        cache: Whether it may come from the worker's cache.
    """
    began = perf_counter()
    first: float | None = None
    async for _ in client.speak(text, pace=PACE, options={"cache": cache}):
        if first is None:
            first = perf_counter() - began
    if first is None:
        raise RuntimeError("the server spoke without a sound")
    return first


BENCHMARKS = (
    Benchmark(
        name="speak.first_audio",
        about="Time to first audio of a sentence of 21 words, one stream at a time.",
        figures=(P50, P99),
        run=measure,
    ),
    Benchmark(
        name="speak.cached",
        about="The same for sentences that were spoken before.",
        figures=(CACHED_P50, CACHED_P99),
        run=measure_cached,
    ),
)
