"""Measure what batches are worth: one stream a step against as many as have work, in one run.

    export PYTHONPATH=. OPENBLAS_NUM_THREADS=1
    python scripts/measure_batching.py [module:Class [option=number ...]]

The engine is a `legato.engines.batching.BatchSynthesizer`; without one, the tone bank of the tests
with a network of 2,048 units, whose weights (16 MiB) are read from memory in each step. Each row is
the same streams at once, each in a thread, through the same adapter; only `max_batch` differs.
Audio seconds a second, the best of three.
"""

from __future__ import annotations

import importlib
import os
import platform
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from legato.audio import AudioFormat
from legato.engines.batching import BatchedSynthesizer, BatchSynthesizer
from legato.speech import SynthesisRequest

DEFAULT = ("tests.standins.tone_bank:ToneBank", "units=2048", "max_batch=16")
TEXT = "Good morning, and welcome to the show. Today we speak about rivers and bridges."
STREAMS = (1, 2, 4, 8, 16, 32)


def main(arguments: list[str]) -> None:
    """Print a table for one engine."""
    target, *options = arguments or DEFAULT
    module, _, name = target.partition(":")
    values = {key: int(value) for key, _, value in (option.partition("=") for option in options)}
    engine: BatchSynthesizer[Any] = getattr(importlib.import_module(module), name)(**values)
    engine.load()
    full = engine.max_batch
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(
        f"{target} {' '.join(options)}; {os.cpu_count()} CPUs, {platform.machine()}, load {load}\n"
    )
    print("| streams | one a step | dynamic | ratio | streams a step | first audio | dynamic |")
    print("|---|---|---|---|---|---|---|")
    for streams in STREAMS:
        rounds = [(measured(engine, streams, 1), measured(engine, streams, full)) for _ in "123"]
        # The best of three: other work on the machine only ever takes away.
        alone, _, first_alone = max(one for one, _ in rounds)
        shared, size, first_shared = max(many for _, many in rounds)
        print(
            f"| {streams} | {alone:.0f} s/s | {shared:.0f} s/s | {shared / alone:.2f} |"
            f" {size:.1f} |"
            f" {first_alone * 1e3:.1f} ms | {first_shared * 1e3:.1f} ms |",
            flush=True,
        )
    engine.close()


def measured(
    engine: BatchSynthesizer[Any], streams: int, max_batch: int
) -> tuple[float, float, float]:
    """Return audio seconds a second, streams a step, and the median wait for the first audio."""
    engine.max_batch = max_batch
    adapter = BatchedSynthesizer(engine)
    request = SynthesisRequest(format=engine.info.format or AudioFormat(24_000))

    def speak(_: int) -> tuple[float, float]:
        began = time.monotonic()
        first, audio = 0.0, 0.0
        for chunk in adapter.synthesize(request, [TEXT]):
            first = first or time.monotonic() - began
            audio += chunk.duration
        return first, audio

    with ThreadPoolExecutor(streams) as pool:
        began = time.monotonic()
        spoken = list(pool.map(speak, range(streams)))
        took = time.monotonic() - began
    adapter.steps.close()
    size = adapter.steps.served / max(1, adapter.steps.count)
    first = statistics.median(first for first, _ in spoken)
    return sum(audio for _, audio in spoken) / took, size, first


if __name__ == "__main__":
    main(sys.argv[1:])
