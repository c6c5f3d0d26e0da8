"""What an operator may set of a worker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from legato.engines.base import EngineKind
from legato.speech.lexicon import Lexicon


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSpec:
    """One engine that a worker offers.

    Attributes:
        kind: What it does.
        name: As registered.
        processes: Engine processes to keep. Those of an engine that can be forked share one copy
            of its weights, kept by one process more.
        slots: Streams that one process serves at once; None takes what the engine says.
        target: `module:Class` to use instead of what is registered under `name`.
        options: Given to the engine as keyword arguments; its page says which it takes.
        unload_after: Seconds without a call after which its processes end and give their memory
            back; the next call starts them again, and waits for them. None: never. Engines in the
            worker's own process stay.
    """

    kind: EngineKind
    name: str
    processes: int = 1
    slots: int | None = None
    target: str | None = None
    options: Mapping[str, Any] | None = field(default=None, hash=False)
    unload_after: float | None = None


LOUDNESS: Final = (-70.0, 0.0)
"""LUFS that speech can have."""

DEFAULT_ENGINES: tuple[EngineSpec, ...] = (
    EngineSpec(kind=EngineKind.SYNTHESIZE, name="hibari"),
    EngineSpec(kind=EngineKind.SYNTHESIZE, name="espeak"),
    EngineSpec(kind=EngineKind.SYNTHESIZE, name="tone", slots=64),
    EngineSpec(kind=EngineKind.RECOGNIZE, name="moonshine"),
    EngineSpec(kind=EngineKind.RECOGNIZE, name="tone", slots=64),
)
"""Engines that need nothing but their extra; one whose package is missing is told, not used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerConfig:
    """Settings of a worker.

    Attributes:
        engines: What it offers, in order of preference: objects with `kind` (`synthesize` or
            `recognize`) and `name`, and if need be `processes`, `slots`, `target`, `options` and
            `unload_after`.
        synthesizers: Names in order: the first that can be used is the default. `tone` is not
            among them: who wants speech must not get tones.
        recognizers: The same for recognition.
        echo_slots: Echo streams at once.
        max_streams: Streams of one engine that are held at once, speaking or not. Only while it
            speaks or listens does a stream take one of the engine's slots.
        idle_release: Seconds after which a stream gives its slot back, if a recognition hears
            nothing new or the audio of a synthesis is not taken; it goes on when there is more.
        engine_timeout: Seconds that a call may stay inside its engine without taking input or
            giving output; then its process is replaced.
        load_timeout: Seconds that an engine may take to load and warm up.
        slot_timeout: Seconds that a call waits for a free slot while no call at all gets one; then
            its stream fails. As long as the line moves, a stream that was accepted is served.
        restart_delay: Seconds before the second restart in a row; doubles with each. The first is
            at once.
        max_restart_delay: Bound of that, in seconds.
        max_redos: Times that a stream is begun again after its engine's process died while the
            stream was inside it; four times as often if it was not.
        max_deliveries: Workers that may die of one job before it is given up.
        lease: Seconds until the bus gives a silent worker's jobs to another.
        renew_every: Seconds between renewals.
        claim_wait: Seconds that one request for a job waits at the bus.
        claim_pause: Seconds between looks for jobs while no slot is free: other workers' chance.
        announce_every: Seconds between renewals of the engines' records.
        record_ttl: Seconds that a record outlives its last renewal.
        max_text_chars: Characters of one utterance.
        lexicon: What to say for words that voices say wrongly; a stream's `options.lexicon` adds
            to it and overrides it.
        loudness: Loudness in LUFS of voices whose engine does not say it, by `engine` or
            `engine/voice`; docs/sound.md says how to measure it. The same on every worker.
        cache_bytes: Bound of the speech kept in memory to be said again, 0 for none.
        uncached_tenants: Tenants of whose speech nothing is kept.
        recycle_after: Calls after which an engine's process is replaced by a fresh one, which is
            loaded first; no call is cut short. Engines in the worker's own process go on.
        recycle_jitter: By how many more or less each process has, and each worker.
        restart_after: Streams after which the worker drains and ends with exit code 0, for a
            supervisor to start it anew; unset, never.
    """

    engines: tuple[EngineSpec, ...] = DEFAULT_ENGINES
    synthesizers: tuple[str, ...] = ("hibari", "espeak")
    recognizers: tuple[str, ...] = ("moonshine",)
    echo_slots: int = 1_000
    max_streams: int = 1_000
    idle_release: float = 5.0
    engine_timeout: float = 10.0
    load_timeout: float = 300.0
    slot_timeout: float = 30.0
    restart_delay: float = 0.5
    max_restart_delay: float = 30.0
    max_redos: int = 3
    max_deliveries: int = 3
    lease: float = 2.0
    renew_every: float = 0.5
    claim_wait: float = 5.0
    claim_pause: float = 0.2
    announce_every: float = 2.0
    record_ttl: float = 6.0
    max_text_chars: int = 20_000
    lexicon: Mapping[str, str] = field(default_factory=dict, hash=False)
    loudness: Mapping[str, float] = field(default_factory=dict, hash=False)
    cache_bytes: int = 64 << 20
    uncached_tenants: tuple[str, ...] = ()
    recycle_after: int = 10_000
    recycle_jitter: int = 500
    restart_after: int | None = None

    def __post_init__(self) -> None:
        """See that lexicon and loudness can be used.

        Raises:
            ValueError: If one cannot; says which entry and why.
        """
        Lexicon(self.lexicon)
        for name, lufs in self.loudness.items():
            if not LOUDNESS[0] <= lufs <= LOUDNESS[1]:
                raise ValueError(
                    f"loudness of {name!r} must be {LOUDNESS[0]:g} to {LOUDNESS[1]:g} LUFS"
                )
