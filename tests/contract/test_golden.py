"""What one version wrote, every later one reads to the same meaning; what it cannot, it refuses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from legato.bus.items import Item
from legato.bus.redis.encoding import decode_entry, decode_job, decode_push
from legato.errors import Internal, LegatoError, MalformedMessage, UnsupportedVersion
from legato.protocol.codec import decode_client, decode_server
from legato.protocol.media import AudioFrame
from legato.protocol.messages import ClientMessage, Hello, ServerMessage
from legato.protocol.version import VERSIONS, agree_version, pick_subprotocol
from tests.vectors.golden.kinds import JSON, KINDS, Kind, meaning
from tests.vectors.golden.record import Golden, additions, load, save

GOLDENS = load()

LATER = {"deep": [1, "later"]}
"""What a later version may have to say."""

NEWS = "type_of_a_later_version"


def read(golden: Golden, data: str | bytes | None = None) -> Any:
    """What this version understands."""
    return meaning(KINDS[golden.kind].read(golden.data if data is None else data))


def says(now: Any, then: Any) -> bool:
    """Whether something says what it said then, whatever fields there are besides."""
    match now, then:
        case dict(), dict():
            return all(name in now and says(now[name], then[name]) for name in then)
        case list(), list():
            return len(now) == len(then) and all(map(says, now, then))
    return type(now) is type(then) and bool(now == then)


@pytest.mark.parametrize("golden", GOLDENS, ids=lambda g: f"{g.kind}-{g.name}-{g.since}")
def test_what_was_written_is_read_to_the_same_meaning(golden: Golden) -> None:
    now = read(golden)
    assert says(now, golden.meaning), f"{now} is not {golden.meaning}"


def test_what_this_version_writes_is_recorded() -> None:
    missing = [f"{golden.kind}: {golden.name}" for golden in additions(GOLDENS)]
    assert missing == [], "run: .venv/bin/python -m tests.vectors.golden"


def test_every_message_and_every_item_is_among_them() -> None:
    names = {(golden.kind, golden.name.partition(":")[0]) for golden in GOLDENS}
    for kind, union in (("client", ClientMessage), ("server", ServerMessage), ("entry", Item)):
        tags = {t.__struct_config__.tag for t in get_args(union) if t is not AudioFrame}
        assert tags <= {name for found, name in names if found == kind}
    assert {golden.kind for golden in GOLDENS} == KINDS.keys()


def test_a_changed_default_is_noticed() -> None:
    """What is left out when it is written is said all the same."""
    golden = next(g for g in GOLDENS if (g.kind, g.name) == ("client", "stream_start: least"))
    assert golden.text is not None
    assert "frame_ms" not in golden.text
    assert not says({**read(golden), "frame_ms": 40}, golden.meaning)


def test_recording_adds_and_changes_nothing(tmp_path: Path) -> None:
    older = msgspec.structs.replace(GOLDENS[0], since="0.0.1", text='{"type":"hello","version":0}')
    path = tmp_path / "recorded.json"
    save([older, *GOLDENS[2:]], path)
    recorded = load(path)
    save([*recorded, *additions(recorded)], path)
    now = load(path)
    assert now[: len(recorded)] == recorded
    assert all(golden in now for golden in GOLDENS[:2])
    assert additions(now) == []


@pytest.mark.parametrize("golden", GOLDENS, ids=lambda g: f"{g.kind}-{g.name}-{g.since}")
def test_what_a_later_version_adds_is_passed_over(golden: Golden) -> None:
    assert says(read(golden, grown(golden)), golden.meaning)


def grown(golden: Golden) -> str | bytes:
    """A golden message as a later version may write it, with more in it everywhere."""
    kind = KINDS[golden.kind]
    if golden.kind == "keys":  # names cannot grow; they must be the same
        return golden.data
    if golden.kind == "frame":
        assert isinstance(golden.data, bytes)
        return golden.data + b"\x7a\x05later" + b"\x80\x01\x07"  # fields 15 and 16
    if golden.kind in JSON:
        more = grow(msgspec.json.decode(golden.data), kind)
        data = msgspec.json.encode(more)
        return data.decode() if isinstance(golden.data, str) else data
    assert isinstance(golden.data, bytes)
    return msgspec.msgpack.encode(grow(msgspec.msgpack.decode(golden.data), kind))


def grow(value: Any, kind: Kind, path: tuple[str, ...] = ()) -> Any:
    """Add a field to each object that is declared, and an item to each list that holds fields."""
    match value:
        case dict():
            mine = {
                name: item if name in kind.free else grow(item, kind, (*path, name))
                for name, item in value.items()
            }
            return {**mine, "later": LATER}
        case list():
            items = [grow(item, kind, (*path, "*")) for item in value]
            return [*items, LATER] if path in kind.grown else items
    return value


UNKNOWN = msgspec.msgpack.encode([{"type": NEWS}])


@pytest.mark.parametrize(
    ("act", "code"),
    [
        (lambda: decode_client(f'{{"type":"{NEWS}"}}'), "unexpected_message"),
        (lambda: decode_server(f'{{"type":"{NEWS}"}}'), "unexpected_message"),
        (lambda: decode_server('{"type":"notice","kind":"later"}'), "malformed_message"),
        (lambda: agree_version(max(VERSIONS) + 1), "unsupported_version"),
        (lambda: pick_subprotocol(["legato.v2"]), "unsupported_version"),
        (lambda: decode_entry(UNKNOWN), "internal"),
        (lambda: decode_job(msgspec.msgpack.encode(["later"])), "internal"),
        (lambda: decode_push(msgspec.msgpack.encode([[["later"]]])), "internal"),
    ],
    ids=[
        "message of a client",
        "message of a server",
        "word of a message",
        "version",
        "subprotocol",
        "item of a log",
        "job",
        "push",
    ],
)
def test_what_cannot_be_understood_is_refused_by_code(act: Callable[[], object], code: str) -> None:
    with pytest.raises(LegatoError) as caught:
        act()
    assert caught.value.code == code
    assert caught.value.message


def test_a_later_hello_is_read_so_that_its_version_can_be_refused() -> None:
    """Whatever else it holds: the refusal names the versions that are spoken."""
    hello = decode_client('{"type":"hello","version":2,"later":{"deep":[1]}}')
    assert isinstance(hello, Hello)
    with pytest.raises(UnsupportedVersion, match="this side speaks 1"):
        agree_version(hello.version)


@pytest.mark.parametrize("kind", ["engine", "process"])
def test_a_record_that_is_not_understood_can_be_told_from_a_bug(kind: str) -> None:
    """Readers pass over it: they catch this error."""
    golden = next(g for g in GOLDENS if g.kind == kind)
    known = msgspec.json.decode(golden.data, type=dict[str, Any])
    later: Mapping[str, Any] = {**known, "state": "state_of_a_later_version"}
    with pytest.raises(msgspec.ValidationError):
        KINDS[kind].read(msgspec.json.encode(later))


def test_what_is_no_message_is_told_from_a_later_one() -> None:
    with pytest.raises(MalformedMessage):
        decode_client('{"version":1}')
    with pytest.raises(Internal):
        decode_entry(b"\xc1")
