from hashlib import sha256

import pytest

from legato.flow.digest import BATCH, EMPTY, LARGE_BYTES, Chain


def test_a_new_chain_is_32_zero_bytes() -> None:
    assert Chain().digest == EMPTY == bytes(32)
    assert Chain().hexdigest() == "00" * 32


def test_each_payload_is_hashed_after_the_digest_before_it() -> None:
    chain = Chain()
    chain.update(b"one")
    chain.update(b"two")

    first = sha256(bytes(32) + b"one").digest()
    assert chain.digest == sha256(first + b"two").digest()


def test_known_digest() -> None:
    chain = Chain()
    for payload in (b"\x01\x00", b"", b"\xff\x7f" * 320):
        chain.update(payload)

    assert chain.hexdigest() == "6e6387a1d6693508a61cb45378bbb3baeabfd136b6f731b50f66a9fde8b1e133"


def test_another_process_goes_on_from_the_stored_digest() -> None:
    whole, first = Chain(), Chain()
    for payload in (b"a", b"b"):
        whole.update(payload)
    first.update(b"a")

    second = Chain(first.digest)
    second.update(b"b")

    assert second.digest == whole.digest


def test_frame_boundaries_and_empty_frames_matter() -> None:
    joined, split, with_empty = Chain(), Chain(), Chain()
    joined.update(b"ab")
    split.update(b"a")
    split.update(b"b")
    with_empty.update(b"ab")
    with_empty.update(b"")

    assert len({joined.digest, split.digest, with_empty.digest}) == 3


def test_a_digest_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="32 bytes, not 31"):
        Chain(bytes(31))


def test_many_payloads_give_what_each_alone_would() -> None:
    chain, expected = Chain(), bytes(32)
    for number in range(BATCH + 3):
        chain.update(bytes([number]))
        expected = sha256(expected + bytes([number])).digest()

    assert chain.digest == expected


def test_a_digest_is_settled_until_a_payload_is_not_in_it() -> None:
    chain, settled = Chain(), []
    for _ in range(BATCH):
        settled.append(chain.is_settled)
        chain.update(b"a")
    assert settled == [True] + [False] * (BATCH - 1)
    assert chain.is_settled
    chain.update(b"a")
    chain.hexdigest()
    assert chain.is_settled


def test_a_large_payload_is_digested_at_once() -> None:
    chain = Chain()
    chain.update(b"a")
    chain.update(bytes(LARGE_BYTES - 1))
    assert not chain.is_settled
    chain.update(bytes(LARGE_BYTES))
    assert chain.is_settled
