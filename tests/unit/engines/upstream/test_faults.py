import pytest

from legato.engines.upstream.faults import MAX_EXCERPT, TREATMENTS, Fault, Kind, of_status
from legato.errors import EngineFailed, EngineTimeout, EngineUnavailable, LegatoError, Overloaded


def test_every_kind_has_a_treatment() -> None:
    assert set(TREATMENTS) == set(Kind)


@pytest.mark.parametrize(
    ("status", "kind", "error"),
    [
        (400, Kind.UNFIT, EngineFailed),
        (401, Kind.DENIED, EngineUnavailable),
        (403, Kind.DENIED, EngineUnavailable),
        (404, Kind.MISSING, EngineUnavailable),
        (418, Kind.UNFIT, EngineFailed),
        (429, Kind.BUSY, Overloaded),
        (500, Kind.BROKEN, EngineFailed),
        (503, Kind.BUSY, Overloaded),
        (504, Kind.SLOW, EngineTimeout),
        (302, Kind.BROKEN, EngineFailed),
    ],
)
def test_a_status_becomes_one_of_our_codes(
    status: int, kind: Kind, error: type[LegatoError]
) -> None:
    fault = of_status(status, "why\n it is so", retry_after=3.0)
    told = fault.error("lark")
    assert (fault.kind, type(told), told.retry_after) == (kind, error, 3.0)
    assert told.message == f"lark: the upstream answers with status {status}: why it is so"


def test_no_error_of_the_upstream_accuses_the_client_of_a_wrong_key() -> None:
    assert of_status(401).error("lark").code == "engine_unavailable"


def test_what_an_upstream_says_is_shortened_and_kept_out_of_the_message_for_the_log() -> None:
    fault = Fault(Kind.BROKEN, "it broke", words="x" * 1_000)
    assert fault.message == "it broke"
    assert len(fault.words) == MAX_EXCERPT


def test_only_an_unfit_request_is_not_tried_elsewhere() -> None:
    assert [kind for kind, one in TREATMENTS.items() if not one.elsewhere] == [Kind.UNFIT]
