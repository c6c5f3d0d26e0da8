"""The invariants I1 to I8, as functions of a history and of what undisturbed streams give.

Every function returns the violations that it finds; none means that the invariant holds.
"""

from __future__ import annotations

import math
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tests.faults.history import Event
from tests.faults.pressure import Pressure

LAG_FLOOR = 0.5
"""Seconds of lag that a process starting on one of two shared cores alone can cause."""

GONE_WITHIN = 5.0


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken promise."""

    invariant: str
    stream: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.invariant} {self.stream}: {self.sentence}"


@dataclass(frozen=True, slots=True)
class Reference:
    """What a stream gives when nobody disturbs it.

    Args:
        sample_bytes: Of one sample of `pcm`.
        pcm: All audio down.
        finals: All finals: text, first and last sample, words with their times.
    """

    sample_bytes: int = 2
    pcm: bytes = b""
    finals: tuple[tuple[Any, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Promise:
    """What a case may cost.

    Args:
        codes: Errors with which a stream may fail; none: all must end well.
        surfaced: Seconds after the last fault began within which a failure must be told.
        stall: Longest silence of a stream that goes on, in seconds, without those in which
            processes of this machine waited for a processor.
        told: Silence after which the client must have been told `recovering`, counted likewise.
    """

    codes: frozenset[str] = frozenset()
    surfaced: float = math.inf
    stall: float = math.inf
    told: float = math.inf


References = Mapping[str, Reference]


def by_stream(history: Iterable[Event], op: str) -> dict[str, list[Event]]:
    """Events about streams, by stream."""
    found: dict[str, list[Event]] = defaultdict(list)
    for event in history:
        if event.op == op:
            found[event.stream].append(event)
    return found


def ended_well(history: Iterable[Event]) -> set[str]:
    """Streams that were delivered whole, as their clients believe."""
    return {event.stream for event in history if event.op == "stream" and event.type == "ok"}


def audio_up_is_decoded(history: Sequence[Event]) -> list[Violation]:
    """I1: every sample that was taken is decoded; finals, or the echo, lie over all of it."""
    spans: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for event in history:
        if event.op == "final":
            spans[event.stream].append((event.facts["start"], event.facts["end"]))
        elif event.op == "audio":
            begin = event.facts["sample"]
            spans[event.stream].append((begin, begin + event.facts["samples"]))
    well, found = ended_well(history), []
    for stream, events in by_stream(history, "taken").items():
        taken = max(event.facts["upto"] for event in events)
        reached = 0
        for begin, end in sorted(spans[stream]):
            if begin > reached:
                break
            reached = max(reached, end)
        if stream in well and reached < taken:
            found.append(
                Violation("I1", stream, f"{taken} samples taken, decoded only up to {reached}")
            )
    return found


def transcripts_are_undisturbed(
    history: Sequence[Event], references: References
) -> list[Violation]:
    """I2: finals are those of the undisturbed run, in order, none changed, repeated or left out."""
    well, found = ended_well(history), []
    heard = by_stream(history, "final")
    for stream in sorted({*heard, *well} & {*references}):
        got = [final_of(event) for event in heard.get(stream, ())]
        want = list(references[stream].finals)
        if stream in well and len(got) < len(want):
            found.append(Violation("I2", stream, f"{len(got)} of {len(want)} finals came"))
        if len(got) > len(want):
            found.append(Violation("I2", stream, f"{len(got)} finals came, not {len(want)}"))
        for number, (mine, theirs) in enumerate(zip(got, want, strict=False)):
            if mine != theirs:
                found.append(Violation("I2", stream, f"final {number} is {mine}, not {theirs}"))
                break
    return found


def final_of(event: Event) -> tuple[Any, ...]:
    """What a final says and when, as a reference has it."""
    facts = event.facts
    words = tuple(tuple(word) for word in facts["words"])
    return (facts["text"], facts["start"], facts["end"], words)


def audio_is_undisturbed(history: Sequence[Event], references: References) -> list[Violation]:
    """I3: audio down lies end to end from sample 0, and is the undisturbed run's, byte by byte."""
    well, found = ended_well(history), []
    came = by_stream(history, "audio")
    for stream in sorted({*came, *well} & {*references}):
        reference = references[stream]
        reached = 0
        for event in came.get(stream, ()):
            sentence = _misplaced(event, reached, reference)
            if sentence:
                found.append(Violation("I3", stream, sentence))
                break
            reached += event.facts["samples"]
        else:
            whole = len(reference.pcm) // reference.sample_bytes
            if stream in well and reached != whole:
                found.append(Violation("I3", stream, f"{reached} of {whole} samples came"))
    return found + _digests(history)


def _misplaced(event: Event, reached: int, reference: Reference) -> str:
    sample, samples = event.facts["sample"], event.facts["samples"]
    if sample > reached:
        return f"samples {reached} to {sample} are lost"
    if sample < reached:
        return f"samples {sample} to {reached} came twice"
    size = reference.sample_bytes
    part = reference.pcm[sample * size : (sample + samples) * size]
    if len(part) != samples * size:
        return f"more came than there is: up to sample {sample + samples}"
    if zlib.crc32(part) != event.facts["crc"]:
        return f"samples {sample} to {sample + samples} are not those of the undisturbed run"
    return ""


def _digests(history: Sequence[Event]) -> list[Violation]:
    return [
        Violation("I3", event.stream, "the client's digest is not the server's")
        for event in history
        if event.op == "stream" and event.type == "ok" and not event.facts["intact"]
    ]


def failures_are_told(history: Sequence[Event], promise: Promise) -> list[Violation]:
    """I4: a stream ends well, or fails in time with a code that the case allows; none hangs."""
    faults = [event.t for event in history if event.op == "fault" and event.type == "invoke"]
    ends = {
        event.stream: event
        for event in history
        if event.op == "stream" and event.type in ("ok", "fail", "info")
    }
    found = []
    for event in history:
        if event.op != "stream" or event.type != "invoke":
            continue
        end = ends.get(event.stream)
        if end is None or end.type == "info":
            found.append(Violation("I4", event.stream, "neither ended nor failed in time"))
        elif end.type == "fail":
            sentence = _wrong_failure(end, max(faults, default=math.inf), promise)
            if sentence:
                found.append(Violation("I4", event.stream, sentence))
    return found + _stalls(history, promise)


def _wrong_failure(end: Event, fault: float, promise: Promise) -> str:
    code, after = end.facts["code"], end.t - fault
    if code not in promise.codes:
        return f"failed with {code}: {end.facts.get('message', '')}"
    if after > promise.surfaced:
        return f"{code} was told {after:.2f} s after the fault, not within {promise.surfaced} s"
    return ""


def _stalls(history: Sequence[Event], promise: Promise) -> list[Violation]:
    found = []
    pressure = Pressure(history)
    news = by_stream(history, "notice")
    for stream, times in _deliveries(history).items():
        told = [e.t for e in news.get(stream, ()) if e.facts["kind"] == "recovering"]
        for since, until in pairwise(times):
            wait = until - since
            waited = pressure.between(since, until)
            if wait - waited > promise.stall:
                sentence = (
                    f"stood still for {wait:.2f} s, not {promise.stall} s; processes waited for"
                    f" {waited:.2f} s"
                )
                found.append(Violation("I4", stream, sentence))
            if wait - waited > promise.told and not any(
                since <= t <= until and t - since - pressure.between(since, t) <= promise.told
                for t in told
            ):
                sentence = f"not told of {wait:.2f} s of standing still within {promise.told} s"
                found.append(Violation("I4", stream, sentence))
    return found


def _deliveries(history: Sequence[Event]) -> dict[str, list[float]]:
    """When something was delivered, by streams that ended well."""
    well = ended_well(history)
    times: dict[str, list[float]] = defaultdict(list)
    for event in history:
        if event.stream in well and event.op in ("audio", "final", "partial"):
            times[event.stream].append(event.t)
    return times


def logs_are_contiguous(history: Sequence[Event]) -> list[Violation]:
    """I5: in a log, entries and wire numbers have neither holes nor repeats; epochs never fall.

    What was trimmed before the tap could read it is told by it, and not judged.
    """
    found = []
    places: dict[tuple[str, str], _Place] = {}
    for event in history:
        if event.op not in ("entry", "trimmed"):
            continue
        log = (event.stream, event.facts["direction"])
        last = places.get(log, _Place())
        if event.op == "trimmed":
            places[log] = _Place(event.facts["upto"] - 1, last.epoch, None)
            continue
        number, epoch, seqs = (event.facts[name] for name in ("number", "epoch", "seqs"))
        sentence = _out_of_order(last, number, epoch, seqs)
        if sentence:
            found.append(Violation("I5", event.stream, f"{log[1]}: {sentence}"))
        rest = last.seq if epoch == last.epoch else -1
        places[log] = _Place(number, epoch, seqs[-1] if seqs else rest)
    return found


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a log is; what is None may be anything."""

    number: int | None = None
    epoch: int = 0
    seq: int | None = None


def _out_of_order(last: _Place, number: int, epoch: int, seqs: list[int]) -> str:
    if last.number is not None and number != last.number + 1:
        return f"entry {number} follows entry {last.number}"
    if epoch < last.epoch:
        return f"epoch {epoch} follows epoch {last.epoch}"
    expected = 0 if epoch != last.epoch else None if last.seq is None else last.seq + 1
    for seq in seqs:
        if expected is not None and seq != expected:
            return f"seq {seq} where {expected} was to come, epoch {epoch}"
        expected = seq + 1
    return ""


def nothing_is_kept(history: Sequence[Event], within: float = GONE_WITHIN) -> list[Violation]:
    """I6: some seconds after its end no key of a stream is left."""
    last: dict[str, Event] = {}
    for event in history:
        if event.op == "keys":
            last[event.stream] = event
    return [
        Violation("I6", stream, f"{event.facts['since']:.1f} s after the end: {left}")
        for stream, event in last.items()
        if (left := event.facts["keys"]) or event.facts["since"] > within
    ]


def usage_is_back(
    history: Sequence[Event], *, rss_growth: float = 0.25, slack: int = 2
) -> list[Violation]:
    """I7: descriptors and keys are back where they were; memory has not grown by much.

    `slack` descriptors may differ: a connection is replaced before the old one is let go.
    """
    before: dict[str, Event] = {}
    after: dict[str, Event] = {}
    for event in history:
        if event.op == "usage":
            phase = before if event.facts["phase"] == "before" else after
            phase[event.facts["of"]] = event
    found = []
    for name in sorted(before.keys() & after.keys()):
        then, now = before[name].facts, after[name].facts
        if now["fds"] > then["fds"] + slack:
            sentence = f"{now['fds']} descriptors, before {then['fds']}"
            found.append(Violation("I7", name, sentence))
        if now["keys"] > then["keys"]:
            found.append(Violation("I7", name, f"{now['keys']} keys, before {then['keys']}"))
        if now["rss"] > then["rss"] * (1 + rss_growth):
            found.append(Violation("I7", name, f"{now['rss']} bytes, before {then['rss']}"))
    return found


def others_are_unaffected(history: Sequence[Event], baseline: float) -> list[Violation]:
    """I8: streams beside the fault end well, late by no more than twice what they always are.

    Args:
        history: Of the case; bystanders are those whose `invoke` says so.
        baseline: 99th percentile of their lag when nothing is wrong, in seconds.
    """
    beside = {
        event.stream
        for event in history
        if event.op == "stream" and event.type == "invoke" and event.facts.get("bystander")
    }
    found = [
        Violation("I8", stream, "did not end well")
        for stream in sorted(beside - ended_well(history))
    ]
    bound = max(2 * baseline, LAG_FLOOR)
    for stream, events in by_stream(history, "audio").items():
        late = percentile_99([event.facts["lag"] for event in events if "lag" in event.facts])
        if stream in beside and late > bound:
            found.append(Violation("I8", stream, f"p99 lag {late:.3f} s, not {bound:.3f} s"))
    return found


def percentile_99(values: Sequence[float]) -> float:
    """The value that 99 of 100 do not exceed; 0 for none."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(0.99 * len(ordered)) - 1)] if ordered else 0.0


def check(
    history: Sequence[Event], references: References, promise: Promise, *, baseline: float = 0.0
) -> list[Violation]:
    """All invariants that a history can say something about."""
    return [
        *audio_up_is_decoded(history),
        *transcripts_are_undisturbed(history, references),
        *audio_is_undisturbed(history, references),
        *failures_are_told(history, promise),
        *logs_are_contiguous(history),
        *nothing_is_kept(history),
        *usage_is_back(history),
        *others_are_unaffected(history, baseline),
    ]
