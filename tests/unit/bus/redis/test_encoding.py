import msgspec
import pytest

from legato.bus.base import Committed, Item, Restart
from legato.bus.redis.encoding import (
    Push,
    Pushed,
    decode_entry,
    decode_job,
    decode_push,
    encode_entry,
    encode_job,
    encode_push,
)
from legato.errors import Internal
from legato.protocol.media import AudioFrame
from legato.protocol.messages import Text
from tests.contract.buses import job

FRAME = AudioFrame(b"\x00\xff" * 320, 7, last=True, sample=2**40, epoch=3, utterance=9)
MARK = Committed(12, upto=9, restart=Restart(9, utterance=2))
ITEMS: tuple[Item, ...] = (FRAME, Text(seq=1, text="Größe 你好"), MARK)


def pushed(*entries: bytes) -> Pushed:
    return 5, 10, "abc", [msgspec.Raw(entry) for entry in entries]


def test_an_entry_comes_out_as_it_went_in() -> None:
    assert decode_entry(encode_entry(ITEMS)) == ITEMS


def test_a_payload_is_stored_as_it_is() -> None:
    data = encode_entry((FRAME,))
    assert FRAME.payload in data
    assert len(data) < len(FRAME.payload) + 32


def test_what_a_later_version_appends_to_a_frame_is_passed_over() -> None:
    later = msgspec.msgpack.encode([(b"pcm", 1, False, 320, 0, 2, "news", 5)])
    assert decode_entry(later) == (AudioFrame(b"pcm", 1, sample=320, utterance=2),)


def test_fields_that_a_later_version_adds_to_a_message_are_passed_over() -> None:
    later = msgspec.msgpack.encode([{"type": "text", "seq": 1, "text": "a", "mood": "glad"}])
    assert decode_entry(later) == (Text(seq=1, text="a"),)


@pytest.mark.parametrize(
    "data",
    [
        msgspec.msgpack.encode([{"type": "from_the_future"}]),
        msgspec.msgpack.encode([(b"pcm", 1)]),
        msgspec.msgpack.encode("text"),
        b"\xc1",
        b"",
    ],
    ids=["unknown item", "short frame", "no array", "no msgpack", "nothing"],
)
def test_an_entry_that_is_not_understood_raises(data: bytes) -> None:
    with pytest.raises(Internal, match="not understood"):
        decode_entry(data)


def test_a_push_comes_out_as_it_went_in() -> None:
    push = Push([pushed(encode_entry(ITEMS), encode_entry((MARK,)))], [3, 4], ["tone"], [9])
    entries, rest = decode_push(encode_push(push))
    assert entries == [(5, 10, "abc", [ITEMS, (MARK,)])]
    assert rest == Push([], [3, 4], ["tone"], [9])


def test_an_empty_push_is_one_too() -> None:
    assert decode_push(encode_push(Push())) == ([], Push())


def test_whom_a_push_brings_an_unknown_entry_for_is_told_to_look() -> None:
    strange = msgspec.msgpack.encode([{"type": "from_the_future"}])
    push = Push([pushed(strange)], [3])
    assert decode_push(encode_push(push)) == ((), Push([], [3, 5]))


def test_what_a_later_version_appends_to_a_push_is_passed_over() -> None:
    later = msgspec.msgpack.encode([[], [3], [], [], "news"])
    assert decode_push(later) == ([], Push([], [3]))


def test_what_is_no_push_raises() -> None:
    with pytest.raises(Internal, match="not understood"):
        decode_push(b"\xc1")


def test_a_job_comes_out_as_it_went_in() -> None:
    assert decode_job(encode_job(job(tenant="acme"))) == job(tenant="acme")


def test_what_is_no_job_raises() -> None:
    with pytest.raises(Internal, match="not understood"):
        decode_job(msgspec.msgpack.encode(["a", "b"]))
