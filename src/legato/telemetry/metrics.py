"""Every metric: its name, unit, labels and buckets, in one table.

Values are kept in a registry of our own, so that a process that embeds Legato shows only what it
chooses to. Labels have few values: engines, codes, directions; never a stream or a tenant.
"""

from __future__ import annotations

import os
from typing import Final

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector

MULTIPROCESS: Final = "PROMETHEUS_MULTIPROC_DIR"
"""Variable of prometheus_client: the folder in which processes keep their values together."""

REGISTRY: Final = CollectorRegistry()

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST
"""Of what `exposition` returns."""

_LATENCY: Final = (0.005, 0.01, 0.02, 0.05, 0.09, 0.15, 0.2, 0.3, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Seconds; the bounds of the benchmark's table are among them."""

_LAG: Final = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.5, 1.0, 2.0, 5.0)


def _counter(name: str, what: str, *labels: str) -> Counter:
    return Counter(f"legato_{name}", what, labels, registry=REGISTRY)


def _gauge(name: str, what: str, *labels: str) -> Gauge:
    return Gauge(f"legato_{name}", what, labels, registry=REGISTRY, multiprocess_mode="livesum")


def _histogram(
    name: str, what: str, *labels: str, buckets: tuple[float, ...] = _LATENCY
) -> Histogram:
    return Histogram(f"legato_{name}", what, labels, buckets=buckets, registry=REGISTRY)


# worker
JOBS = _counter("jobs", "Streams worked on, by how they ended.", "engine", "outcome")
JOBS_ACTIVE = _gauge("jobs_active", "Streams being worked on.", "engine")
FIRST_AUDIO = _histogram(
    "first_audio_seconds", "Seconds from an utterance's first text to its first frame.", "engine"
)
DECODING_DELAY = _histogram(
    "decoding_delay_seconds", "Seconds from the last sample heard to a final text.", "engine"
)
ENGINE_LOSSES = _counter("engine_losses", "Engine processes that died.", "engine", "cause")
ENGINE_PROCESSES = _gauge("engine_processes", "Engine processes that are ready.", "engine")
CACHED_SPEECH = _counter(
    "cached_speech", "Looks for a piece of speech that was made before: hit or miss.", "outcome"
)
CACHED_BYTES = _gauge("cached_speech_bytes", "Bytes of speech that is kept to be said again.")

# gateway
CONNECTIONS_ACTIVE = _gauge("connections_active", "Open connections.")
CONNECTIONS = _counter("connections", "Connections closed, by close code.", "code")
STREAMS_ACTIVE = _gauge("streams_active", "Open streams.", "task")
STREAMS = _counter("streams", "Streams ended, by task and error code or ok.", "task", "outcome")
LOOP_LAG = _histogram(
    "loop_lag_seconds",
    "Seconds by which the event loop was late, looked at every 0.1 s.",
    buckets=_LAG,
)
AUDIO_SECONDS = _counter("audio_seconds", "Seconds of audio carried.", "direction")


def exposition() -> bytes:
    """Return all metrics in the Prometheus text format.

    Where `MULTIPROCESS` is set, they are those of all processes with the same folder, added up.
    """
    if MULTIPROCESS not in os.environ:  # noqa: TID251  (prometheus_client reads it)
        return generate_latest(REGISTRY)
    together = CollectorRegistry()
    MultiProcessCollector(together)  # type: ignore[no-untyped-call]  # the library has no types there
    return generate_latest(together)
