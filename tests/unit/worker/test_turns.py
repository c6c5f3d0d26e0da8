import math
from dataclasses import replace
from random import Random

import pytest

from legato.audio import AudioFormat
from legato.flow.urgency import NEAR, NEVER, PATIENCE, Rank
from legato.speech import RecognitionRequest, SynthesisRequest
from legato.worker.turns import NEW, Caller, Waiting, first, order, rank, timed

NOW = 100.0


def waiting(ticket: int, caller: Caller, *, since: float = NOW) -> Waiting:
    return Waiting(ticket, since, caller)


@pytest.mark.parametrize(
    ("under_way", "covered_until", "patient", "expected"),
    [
        (True, NEVER, False, Rank.DUE),
        (True, NOW + NEAR - 0.1, False, Rank.DUE),
        (True, NOW + NEAR, False, Rank.AHEAD),
        (False, NEVER, False, Rank.FIRST),
        (False, NOW + NEAR, False, Rank.FIRST),
        (True, NEVER, True, Rank.AHEAD),
        (False, NEVER, True, Rank.AHEAD),
    ],
)
def test_streams_under_way_come_first_and_those_far_ahead_last(
    under_way: bool, covered_until: float, patient: bool, expected: Rank
) -> None:
    caller = Caller(under_way=under_way, covered_until=covered_until, patient=patient)
    assert rank(waiting(0, caller), NOW) is expected


def test_a_stream_that_was_far_ahead_is_due_once_it_has_been_listened_to() -> None:
    ahead = waiting(0, Caller(under_way=True, covered_until=NOW + 4))
    assert [rank(ahead, NOW + passed) for passed in (0, 2, 2.1)] == [
        Rank.AHEAD,
        Rank.AHEAD,
        Rank.DUE,
    ]


def test_each_wait_for_long_lifts_a_call_by_one_rank() -> None:
    whole = waiting(0, Caller(patient=True))
    ranks = [rank(whole, NOW + times * PATIENCE) for times in (0, 0.9, 1, 2, 9)]
    assert ranks == [Rank.AHEAD, Rank.AHEAD, Rank.FIRST, Rank.DUE, Rank.DUE]


def test_calls_go_by_rank_and_then_as_they_came() -> None:
    ahead = Caller(under_way=True, covered_until=NOW + 60)
    calls = [
        waiting(1, ahead),
        waiting(2, Caller()),
        waiting(3, Caller(under_way=True)),
        waiting(4, Caller()),
    ]
    assert [call.ticket for call in order(calls, {}, NOW)] == [3, 2, 4, 1]


def test_tenants_take_turns() -> None:
    calls = [waiting(n, Caller(tenant="many")) for n in range(4)]
    calls += [waiting(9, Caller(tenant="few"))]
    tenants = [call.caller.tenant for call in order(calls, {"few": 1, "many": 2}, NOW)]
    assert tenants == ["few", "many", "many", "many", "many"]
    tenants = [call.caller.tenant for call in order(calls, {"few": 2, "many": 1}, NOW)]
    assert tenants == ["many", "few", "many", "many", "many"]


def test_rank_comes_before_the_turn_of_a_tenant() -> None:
    calls = [
        waiting(1, Caller(tenant="few")),
        waiting(2, Caller(tenant="many", under_way=True)),
        waiting(3, Caller(tenant="many", under_way=True)),
    ]
    assert [call.ticket for call in order(calls, {"many": 5}, NOW)] == [2, 3, 1]


@pytest.mark.parametrize("seed", range(20))
def test_the_first_is_the_first_of_all_in_order(seed: int) -> None:
    rng = Random(seed)
    calls = [
        waiting(
            ticket,
            Caller(
                tenant=rng.choice("abc"),
                under_way=rng.random() < 0.5,
                covered_until=rng.choice([NEVER, NOW + 9]),
                patient=rng.random() < 0.2,
            ),
            since=NOW - rng.uniform(0, 3 * PATIENCE),
        )
        for ticket in range(30)
    ]
    served = {"a": 3, "b": 1}
    assert first(calls, served, NOW) == order(calls, served, NOW)[0]


def test_a_stream_that_has_enough_to_hear_is_never_lifted_but_becomes_due() -> None:
    caller = Caller(under_way=True, covered_until=NOW + 10 * PATIENCE)
    ahead = Waiting(1, NOW, caller)
    assert rank(ahead, NOW + 3 * PATIENCE) is Rank.AHEAD
    assert rank(ahead, NOW + 10 * PATIENCE - NEAR / 2) is Rank.DUE


AUDIO = AudioFormat(16_000)


@pytest.mark.parametrize(
    ("caller", "spare"),
    [
        (Caller(), NEW),
        (Caller(under_way=True), 0.0),
        (Caller(under_way=True, covered_until=NOW + 4.0), 4.0),
        (Caller(under_way=True, covered_until=NOW - 4.0), 0.0),
        (Caller(patient=True), math.inf),
    ],
    ids=["new", "silent", "ahead", "dry", "patient"],
)
def test_an_engine_is_told_how_long_a_listener_can_wait(caller: Caller, spare: float) -> None:
    request = SynthesisRequest(format=AUDIO)
    assert timed(request, caller, NOW) == replace(request, spare=spare)


def test_of_a_recognition_no_engine_is_told_how_long_it_can_wait() -> None:
    request = RecognitionRequest(format=AUDIO)
    assert timed(request, Caller(), NOW) == request
