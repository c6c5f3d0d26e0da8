import msgspec
import pytest

from legato.bus.records import (
    EngineLoad,
    EngineRecord,
    ProcessRecord,
    VoiceRecord,
    decode_engine,
    decode_process,
    encode_engine,
    encode_process,
    engine_record_name,
)

RECORD = EngineRecord(
    kind="synthesize",
    name="hibari",
    version="0.2.1",
    sample_rate=24_000,
    languages=("en",),
    scripts=("Latn",),
    voices=(VoiceRecord(name="heart", engine="hibari", gender="female"),),
    slots=8,
    deterministic=True,
    state="unavailable",
    reason="not installed",
    default=True,
)


def test_a_record_comes_through_as_it_was() -> None:
    assert decode_engine(encode_engine(RECORD)) == RECORD


def test_a_newer_workers_fields_are_ignored() -> None:
    assert decode_engine(b'{"kind": "recognize", "name": "x", "new": 1}').state == "loading"


@pytest.mark.parametrize("value", [b"{}", b'{"kind": "sing", "name": "x"}', b"\xff"])
def test_what_is_no_record_is_told(value: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode_engine(value)


def test_an_engine_of_two_kinds_has_two_records() -> None:
    names = {engine_record_name(kind, "tone") for kind in ("synthesize", "recognize")}
    assert len(names) == 2


def test_a_process_comes_through_as_it_was() -> None:
    record = ProcessRecord(
        role="worker",
        name="box-7-ab",
        host="box",
        pid=7,
        version="0.1.0",
        state="ready",
        started=1.5,
        loop_lag=0.002,
        streams=3,
        engines=(EngineLoad(kind="recognize", name="tone", state="ready", busy=3, slots=8),),
    )
    assert decode_process(encode_process(record)) == record


def test_what_is_no_process_is_told() -> None:
    with pytest.raises(msgspec.DecodeError):
        decode_process(b'{"role": "king", "name": "x"}')
