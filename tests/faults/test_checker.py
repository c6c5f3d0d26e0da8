"""A checker that cannot fail proves nothing: each invariant is broken here on purpose."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import pytest

from tests.faults import checker
from tests.faults.checker import Promise, Reference
from tests.faults.history import Event, History, Type, load

PCM = bytes(range(200))
FINALS = (("ba", 0, 50, (("ba", 0.0, 0.1),)), ("di", 50, 100, (("di", 0.1, 0.2),)))
REFERENCES = {"a": Reference(pcm=PCM, finals=FINALS)}


class Told:
    """A history with its own clock, written by hand."""

    def __init__(self) -> None:
        self.now = 0.0
        self.events: list[Event] = []

    def say(self, op: str, type: Type = "ok", **facts: Any) -> Told:  # noqa: A002  (its name in every history)
        self.events.append(Event(self.now, "test", op, type, {"stream": "a", **facts}))
        self.now += 0.01
        return self

    def audio(self, sample: int, samples: int, *, like: int | None = None, **facts: Any) -> Told:
        at = 2 * (sample if like is None else like)
        crc = zlib.crc32(PCM[at : at + 2 * samples])
        return self.say("audio", sample=sample, samples=samples, crc=crc, **facts)

    def final(self, number: int, **other: Any) -> Told:
        text, start, end, words = FINALS[number]
        told = {"text": text, "start": start, "end": end, "words": [list(w) for w in words]}
        return self.say("final", **{**told, **other})

    def end(self, *, intact: bool = True) -> Told:
        return self.say("stream", intact=intact)

    def entry(self, number: int, *seqs: int, epoch: int = 0) -> Told:
        return self.say("entry", direction="down", number=number, epoch=epoch, seqs=list(seqs))


@pytest.fixture
def told() -> Told:
    return Told()


def sentences(found: list[checker.Violation]) -> list[str]:
    return [str(violation) for violation in found]


def test_an_undisturbed_history_has_no_violation(told: Told) -> None:
    told.say("stream", "invoke").say("taken", upto=100)
    told.audio(0, 60).final(0).audio(60, 40).final(1)
    told.entry(1, 0, 1).entry(2).entry(3, 2).end()
    told.say("keys", keys=[], since=0.2)
    told.say("usage", of="gateway", phase="before", fds=10, keys=3, rss=100)
    told.say("usage", of="gateway", phase="after", fds=11, keys=3, rss=110)
    assert checker.check(told.events, REFERENCES, Promise()) == []


def test_i1_sees_a_sample_that_was_taken_and_not_decoded(told: Told) -> None:
    told.say("taken", upto=100).final(0).end()
    found = sentences(checker.audio_up_is_decoded(told.events))
    assert found == ["I1 a: 100 samples taken, decoded only up to 50"]


def test_i1_sees_a_hole_between_what_was_decoded(told: Told) -> None:
    told.say("taken", upto=100).audio(0, 40).audio(50, 50).end()
    assert "decoded only up to 40" in sentences(checker.audio_up_is_decoded(told.events))[0]


def test_i2_sees_a_final_that_never_came(told: Told) -> None:
    told.final(0).end()
    found = checker.transcripts_are_undisturbed(told.events, REFERENCES)
    assert sentences(found) == ["I2 a: 1 of 2 finals came"]


def test_i2_sees_a_final_that_came_twice(told: Told) -> None:
    told.final(0).final(0).final(1).end()
    found = sentences(checker.transcripts_are_undisturbed(told.events, REFERENCES))
    assert found[0] == "I2 a: 3 finals came, not 2"
    assert "final 1 is" in found[1]


@pytest.mark.parametrize(
    "other", [{"text": "bo"}, {"end": 51}, {"words": [["ba", 0.0, 0.11]]}], ids=str
)
def test_i2_sees_another_text_or_time(told: Told, other: dict[str, Any]) -> None:
    told.final(0, **other).final(1).end()
    found = checker.transcripts_are_undisturbed(told.events, REFERENCES)
    assert "final 0 is" in sentences(found)[0]


def test_i2_judges_a_failed_stream_by_what_came(told: Told) -> None:
    told.final(0).say("stream", "fail", code="engine_failed")
    assert checker.transcripts_are_undisturbed(told.events, REFERENCES) == []


def test_i3_sees_lost_samples(told: Told) -> None:
    told.audio(0, 40).audio(50, 50).end()
    found = checker.audio_is_undisturbed(told.events, REFERENCES)
    assert sentences(found) == ["I3 a: samples 40 to 50 are lost"]


def test_i3_sees_samples_that_came_twice(told: Told) -> None:
    told.audio(0, 40).audio(30, 70).end()
    found = checker.audio_is_undisturbed(told.events, REFERENCES)
    assert sentences(found) == ["I3 a: samples 30 to 40 came twice"]


def test_i3_sees_other_bytes_in_the_right_place(told: Told) -> None:
    told.audio(0, 40).audio(40, 60, like=39).end()
    found = checker.audio_is_undisturbed(told.events, REFERENCES)
    assert "are not those of the undisturbed run" in sentences(found)[0]


def test_i3_sees_an_end_too_early_and_one_too_late(told: Told) -> None:
    told.audio(0, 40).end()
    assert sentences(checker.audio_is_undisturbed(told.events, REFERENCES)) == [
        "I3 a: 40 of 100 samples came"
    ]
    late = Told().audio(0, 100).say("audio", sample=100, samples=20, crc=0).end()
    assert (
        "more came than there is"
        in sentences(checker.audio_is_undisturbed(late.events, REFERENCES))[0]
    )


def test_i3_sees_a_stream_that_ends_without_any_audio(told: Told) -> None:
    told.end()
    assert checker.audio_is_undisturbed(told.events, REFERENCES)


def test_i3_sees_a_digest_that_differs(told: Told) -> None:
    told.audio(0, 100).end(intact=False)
    found = checker.audio_is_undisturbed(told.events, REFERENCES)
    assert sentences(found) == ["I3 a: the client's digest is not the server's"]


@pytest.mark.parametrize("end", [None, "info"], ids=["nothing", "a time-out"])
def test_i4_sees_a_stream_that_hangs(told: Told, end: Type | None) -> None:
    told.say("stream", "invoke")
    if end is not None:
        told.say("stream", end)
    found = checker.failures_are_told(told.events, Promise())
    assert sentences(found) == ["I4 a: neither ended nor failed in time"]


def failed(told: Told, *, after: float) -> list[Event]:
    told.say("stream", "invoke").say("fault", "invoke", kind="freeze")
    told.now += after
    return told.say("stream", "fail", code="bus_unavailable", message="gone").events


def test_i4_sees_a_code_that_was_not_promised(told: Told) -> None:
    found = checker.failures_are_told(failed(told, after=1), Promise())
    assert sentences(found) == ["I4 a: failed with bus_unavailable: gone"]


def test_i4_sees_a_failure_that_is_told_too_late(told: Told) -> None:
    promise = Promise(codes=frozenset({"bus_unavailable"}), surfaced=5)
    assert checker.failures_are_told(failed(told, after=4), promise) == []
    assert "not within 5 s" in str(checker.failures_are_told(failed(Told(), after=6), promise)[0])


def test_i4_sees_a_stream_that_stands_still(told: Told) -> None:
    told.say("stream", "invoke").audio(0, 50)
    told.now += 4
    told.audio(50, 50).end()
    assert checker.failures_are_told(told.events, Promise(stall=5)) == []
    found = checker.failures_are_told(told.events, Promise(stall=3))
    assert "stood still for 4.01 s" in sentences(found)[0]


def test_i4_blames_nobody_for_waiting_for_a_processor(told: Told) -> None:
    told.say("stream", "invoke").say("pressure", waited=7.0).audio(0, 50)
    told.now += 2
    told.say("pressure", waited=7.5)
    told.now += 2
    told.say("pressure", waited=8.5).audio(50, 50)
    told.now += 4
    told.say("pressure", waited=20.0).end()
    assert checker.failures_are_told(told.events, Promise(stall=2.6)) == []
    found = checker.failures_are_told(told.events, Promise(stall=2.4))
    assert sentences(found) == [
        "I4 a: stood still for 4.03 s, not 2.4 s; processes waited for 1.50 s"
    ]


@pytest.mark.parametrize("after", [None, 3.5], ids=["never", "too late"])
def test_i4_sees_a_client_that_is_not_told_why_nothing_comes(
    told: Told, after: float | None
) -> None:
    told.say("stream", "invoke").audio(0, 50)
    told.now += 4
    told.audio(50, 50).end()
    if after is not None:
        told.now = after
        told.say("notice", kind="recovering").say("notice", kind="queued")
    found = checker.failures_are_told(told.events, Promise(told=3))
    assert sentences(found) == ["I4 a: not told of 4.01 s of standing still within 3 s"]
    told.now = 2.5
    told.say("notice", kind="recovering")
    assert checker.failures_are_told(told.events, Promise(told=3)) == []


@pytest.mark.parametrize(
    ("entries", "sentence"),
    [
        ([(1, [0], 0), (3, [1], 0)], "entry 3 follows entry 1"),
        ([(1, [0], 0), (1, [0], 0)], "entry 1 follows entry 1"),
        ([(1, [0, 1], 0), (2, [3], 0)], "seq 3 where 2 was to come"),
        ([(1, [0, 1], 0), (2, [], 0), (3, [1], 0)], "seq 1 where 2 was to come"),
        ([(1, [0], 2), (2, [0], 1)], "epoch 1 follows epoch 2"),
        ([(1, [0], 0), (2, [1], 1)], "seq 1 where 0 was to come, epoch 1"),
    ],
)
def test_i5_sees_what_is_out_of_order(
    told: Told, entries: list[tuple[int, list[int], int]], sentence: str
) -> None:
    for number, seqs, epoch in entries:
        told.entry(number, *seqs, epoch=epoch)
    assert sentence in sentences(checker.logs_are_contiguous(told.events))[0]


def test_i5_lets_a_new_epoch_begin_at_0_and_each_log_have_its_own_count(told: Told) -> None:
    told.entry(1, 0, 1).entry(2, 0, epoch=1).entry(3, epoch=2).entry(4, 0, epoch=2)
    told.say("entry", direction="up", number=7, epoch=0, seqs=[12])
    assert checker.logs_are_contiguous(told.events) == []


def test_i5_does_not_judge_what_was_trimmed_but_all_that_follows(told: Told) -> None:
    told.entry(1, 0).say("trimmed", "info", direction="down", upto=7).entry(7, 9).entry(8, 10)
    assert checker.logs_are_contiguous(told.events) == []
    told.entry(9, 12).entry(11, 13)
    found = sentences(checker.logs_are_contiguous(told.events))
    assert "seq 12 where 11 was to come" in found[0]
    assert "entry 11 follows entry 9" in found[1]


def test_i5_sees_another_entry_than_the_first_that_was_kept(told: Told) -> None:
    told.say("trimmed", "info", direction="down", upto=7).entry(8, 10)
    assert "entry 8 follows entry 6" in sentences(checker.logs_are_contiguous(told.events))[0]


def test_i6_sees_a_key_that_is_kept(told: Told) -> None:
    told.say("keys", keys=["legato:{default/a}:r"], since=5.0)
    assert "legato:{default/a}:r" in sentences(checker.nothing_is_kept(told.events))[0]


def test_i6_sees_a_deletion_that_took_too_long(told: Told) -> None:
    told.say("keys", keys=["k"], since=1.0).say("keys", keys=[], since=7.0)
    assert len(checker.nothing_is_kept(told.events)) == 1
    told.say("keys", keys=[], since=4.0)
    assert checker.nothing_is_kept(told.events) == []


@pytest.mark.parametrize("more", [{"fds": 13}, {"keys": 4}, {"rss": 130}], ids=str)
def test_i7_sees_what_was_not_given_back(told: Told, more: dict[str, int]) -> None:
    usage: dict[str, Any] = {"of": "worker", "fds": 10, "keys": 3, "rss": 100}
    told.say("usage", phase="before", **usage).say("usage", phase="after", **{**usage, **more})
    assert len(checker.usage_is_back(told.events)) == 1


def test_i8_sees_a_bystander_that_fails(told: Told) -> None:
    told.say("stream", "invoke", bystander=True).say("stream", "fail", code="internal")
    found = checker.others_are_unaffected(told.events, 0.1)
    assert sentences(found) == ["I8 a: did not end well"]


def test_i8_sees_a_bystander_that_is_late(told: Told) -> None:
    told.say("stream", "invoke", bystander=True)
    for number in range(10):
        told.audio(number * 10, 10, lag=0.9 if number == 4 else 0.01)
    told.end()
    assert "p99 lag 0.900 s, not 0.800 s" in str(checker.others_are_unaffected(told.events, 0.4)[0])
    assert checker.others_are_unaffected(told.events, 0.5) == []


@pytest.mark.parametrize(
    ("plant", "invariant"),
    [
        (lambda told: told.say("taken", upto=150), "I1"),
        (lambda told: told.final(1), "I2"),
        (lambda told: told.audio(0, 10), "I3"),
        (lambda told: told.say("stream", "invoke", stream="b"), "I4"),
        (lambda told: told.entry(1, 0).entry(1, 0), "I5"),
        (lambda told: told.say("keys", keys=["k"], since=5.0), "I6"),
        (
            lambda told: told.say("usage", of="w", phase="before", fds=1, keys=0, rss=1).say(
                "usage", of="w", phase="after", fds=9, keys=0, rss=1
            ),
            "I7",
        ),
        (
            lambda told: told.say("stream", "invoke", stream="b", bystander=True).say(
                "stream", "info", stream="b"
            ),
            "I8",
        ),
    ],
    ids=[f"I{number}" for number in range(1, 9)],
)
def test_check_asks_for_every_invariant(told: Told, plant: Any, invariant: str) -> None:
    told.say("stream", "invoke").say("taken", upto=100)
    plant(told.audio(0, 100).final(0).final(1))
    told.end()
    found = checker.check(told.events, REFERENCES, Promise())
    assert invariant in {violation.invariant for violation in found}


def test_a_saved_history_is_read_back(tmp_path: Path) -> None:
    history = History(tmp_path / "history.jsonl", clock=lambda: 1.5)
    history.record("client-1", "final", "ok", stream="a", text="héllo", words=[["h", 0.0, 0.1]])
    history.save()
    assert history.path is not None
    assert load(history.path) == history.events


async def test_a_history_can_be_waited_for() -> None:
    history = History()
    assert not await history.until(lambda event: event.op == "audio", 0.01)
    history.record("client-1", "audio", "ok")
    assert not await history.until(lambda event: event.op == "audio", 0.01)
