from binascii import crc_hqx
from collections.abc import Callable

import pytest

from legato.bus.base import Direction, StreamKey
from legato.bus.redis.keys import SLOTS, Keys, digest, slot

KEYS = Keys("legato")


def test_a_slot_is_the_one_that_the_cluster_specification_names() -> None:
    # "A possible implementation of CRC16": CRC16("123456789") is 0x31C3.
    assert slot("123456789") == 0x31C3 % SLOTS


@pytest.mark.parametrize(
    ("name", "hashed"),
    [
        ("{user1000}.following", b"user1000"),
        ("foo{}{bar}", b"foo{}{bar}"),
        ("foo{{bar}}zap", b"{bar"),
        ("foo{bar}{zap}", b"bar"),
        ("foo{bar", b"foo{bar"),
    ],
)
def test_only_what_the_first_braces_hold_is_hashed(name: str, hashed: bytes) -> None:
    # The examples of the Cluster specification, "Hash tags".
    assert slot(name) == crc_hqx(hashed, 0) % SLOTS


@pytest.mark.parametrize("stream_id", [f"s{n}" for n in range(50)])
def test_all_keys_of_a_stream_share_a_slot(stream_id: str) -> None:
    keys = KEYS.stream(StreamKey("acme", stream_id))
    logs = [keys.log(direction, "abc") for direction in Direction]
    assert len({slot(key) for key in (keys.record, *logs, keys.tombstone)}) == 1


def test_every_key_of_a_stream_but_the_tombstone_has_its_name() -> None:
    keys = KEYS.stream(StreamKey("acme", "call-7"))
    assert "{acme/call-7}" in keys.record
    assert "acme" not in keys.tombstone
    assert "call-7" not in keys.tombstone
    assert digest(StreamKey("acme", "call-7")) in keys.tombstone


def test_each_direction_has_a_log_under_each_token() -> None:
    keys = KEYS.stream(StreamKey("acme", "s"))
    assert keys.log(Direction.UP, "abc") == "legato:{acme/s}:u:abc"
    assert keys.log(Direction.DOWN, "abd") == "legato:{acme/s}:d:abd"


@pytest.mark.parametrize(
    "name", [KEYS.registry, KEYS.blob, lambda a, b: KEYS.stream(StreamKey(a, b)).record]
)
def test_names_with_separators_do_not_meet(name: Callable[[str, str], str]) -> None:
    pairs = [
        ("a/b", "c"),
        ("a", "b/c"),
        ("a}", "b"),
        ("a", "}b"),
        ("", "ab"),
        ("ab", ""),
        ("%2F", ""),
    ]
    assert len({name(*pair) for pair in pairs}) == len(pairs)
    # Nothing that a name holds closes the hash tag early.
    assert all(name(*pair).count("}") == 1 for pair in pairs)


def test_digests_of_different_streams_differ() -> None:
    assert digest(StreamKey("a", "bc")) != digest(StreamKey("ab", "c"))


def test_the_keys_of_systems_with_different_prefixes_do_not_meet() -> None:
    key = StreamKey("a", "b")
    assert Keys("one").stream(key).record != Keys("two").stream(key).record
    assert Keys("one").jobs != Keys("two").jobs
    assert Keys("one").channel("t") != Keys("two").channel("t")
