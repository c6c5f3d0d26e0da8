import gc
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from legato.bus.base import Item
from legato.bus.redis.encoding import Push, encode_entry, encode_push
from legato.bus.redis.inbox import Inbox
from tests.contract.buses import frame


class FakeListener:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def pushed(self, first: int, token: str, entries: Sequence[tuple[Item, ...]]) -> None:
        self.told.append((first, token, list(entries)))

    def look(self) -> None:
        self.told.append("look")


def raw(seq: int) -> msgspec.Raw:
    return msgspec.Raw(encode_entry(frame(seq)))


@pytest.fixture
def engines() -> list[str]:
    return []


@pytest.fixture
def inbox(engines: list[str]) -> Inbox:
    return Inbox(engines.append)


def test_entries_go_to_the_reader_that_they_are_for(inbox: Inbox) -> None:
    mine, other = FakeListener(), FakeListener()
    handle, _ = inbox.add_reader(mine), inbox.add_reader(other)
    inbox.take(encode_push(Push([(handle, 4, "abc", [raw(1), raw(2)])])))
    assert mine.told == [(4, "abc", [frame(1), frame(2)])]
    assert other.told == []


def test_readers_and_writers_are_told_to_look(inbox: Inbox) -> None:
    reader, writer = FakeListener(), FakeListener()
    handles = [inbox.add_reader(reader), inbox.add_writer(writer)]
    inbox.take(encode_push(Push(looks=handles)))
    assert reader.told == writer.told == ["look"]


def test_what_is_for_a_reader_that_has_gone_is_dropped(inbox: Inbox) -> None:
    reader = FakeListener()
    handle = inbox.add_reader(reader)
    inbox.remove_reader(handle)
    inbox.remove_reader(handle)
    inbox.take(encode_push(Push([(handle, 1, "abc", [raw(1)])], [handle])))
    assert reader.told == []


def test_a_writer_is_not_kept_alive_by_being_known(inbox: Inbox) -> None:
    writer = FakeListener()
    told = writer.told
    handle = inbox.add_writer(writer)
    assert inbox.writers() == [(handle, writer)]
    del writer
    gc.collect()
    inbox.take(encode_push(Push(looks=[handle])))
    assert told == inbox.writers() == []


def test_handles_are_never_used_again(inbox: Inbox) -> None:
    first = inbox.add_reader(FakeListener())
    inbox.remove_reader(first)
    assert inbox.add_reader(FakeListener()) != first


def test_jobs_are_told_of(inbox: Inbox, engines: list[str]) -> None:
    inbox.take(encode_push(Push(engines=["tone", "echo"])))
    assert engines == ["tone", "echo"]


def test_a_probe_arrives_once(inbox: Inbox) -> None:
    arrived: list[str] = []
    number = inbox.expect_probe(lambda: arrived.append("here"))
    forgotten = inbox.expect_probe(lambda: arrived.append("never"))
    inbox.forget_probe(forgotten)
    inbox.take(encode_push(Push(probes=[number, number, forgotten, 999])))
    assert arrived == ["here"]


def test_probes_are_not_counted(inbox: Inbox) -> None:
    inbox.take(encode_push(Push(probes=[1])))
    inbox.take(encode_push(Push(looks=[1])))
    assert inbox.pushes == 1


def test_what_is_not_understood_is_dropped(inbox: Inbox, engines: list[str]) -> None:
    inbox.take(b"\xc1")
    inbox.take(encode_push(Push(engines=["tone"])))
    assert engines == ["tone"]
