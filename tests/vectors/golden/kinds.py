"""Each kind of thing that one version writes and another reads: how, and with what samples."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any, Final, get_args

import msgspec

from legato.bus.base import Direction, Job, Record, StreamKey
from legato.bus.cluster import Cluster, decode_cluster, encode_cluster
from legato.bus.items import Committed, Item
from legato.bus.records import (
    EngineRecord,
    ProcessRecord,
    decode_engine,
    decode_process,
    encode_engine,
    encode_process,
)
from legato.bus.redis.encoding import (
    Push,
    decode_entry,
    decode_job,
    decode_push,
    encode_entry,
    encode_job,
    encode_push,
)
from legato.bus.redis.keys import Keys
from legato.gateway import notes
from legato.gateway.notes import DownNote, StreamNote, UpNote
from legato.protocol.codec import decode_client, decode_server, encode
from legato.protocol.media import AudioFrame, decode_frame, encode_frame
from legato.protocol.messages import ClientMessage, ServerMessage, StreamStart, Text
from legato.worker.deliveries import Tally
from tests.vectors.golden.filling import full, least

Named = tuple[str, Any]

FRAMES: Final = {
    "frame: least": AudioFrame(b""),
    "frame: full": AudioFrame(b"\x00\xff\x7f\x80", 7, True, 3, 2_240, 2, 5),
    "frame: largest": AudioFrame(b"\x01" * 640, 2**32 - 1, True, 63, 2**53 - 1, 2**32 - 1, 9),
}


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind.

    Args:
        samples: What is recorded of it, by name.
        write: As this version writes it.
        read: As this version reads it.
        grown: Lists that are the fields of something, so that a later version may append to them:
            the keys that lead there, `*` for every item of a list.
        free: Keys of objects whose fields nobody declares.
    """

    samples: Callable[[], Iterator[Named]]
    write: Callable[[Any], str | bytes]
    read: Callable[[Any], Any]
    grown: tuple[tuple[str, ...], ...] = ()
    free: frozenset[str] = frozenset()


def meaning(value: object) -> Any:
    """Return what something says as JSON has it, with all fields, defaults too."""
    match value:
        case msgspec.Struct():
            tag = value.__struct_config__.tag
            said = {name: meaning(getattr(value, name)) for name in value.__struct_fields__}
            return said if tag is None else {"is": tag, **said}
        case bytes():
            return value.hex()
        case tuple() | list():
            return [meaning(item) for item in value]
        case dict():
            return {str(key): meaning(item) for key, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return {field: meaning(getattr(value, field)) for field in value.__dataclass_fields__}
    return value


def _every(*types: type[msgspec.Struct]) -> Iterator[Named]:
    for kind in types:
        name = str(kind.__struct_config__.tag or kind.__name__)
        yield f"{name}: least", least(kind)
        for number, sample in enumerate(full(kind), 1):
            yield f"{name}: full {number}", sample


def _entries() -> Iterator[Named]:
    for name, frame in FRAMES.items():
        yield name, (msgspec.structs.replace(frame, stream=0),)
    for name, item in _every(*(kind for kind in get_args(Item) if kind is not AudioFrame)):
        yield name, (item,)
    frame = AudioFrame(b"\x01\x02", 8, sample=640, utterance=1)
    yield "several items", (Text(seq=7, text="a"), frame, Committed(7, upto=640))


def _jobs() -> Iterator[Named]:
    key = StreamKey("acme", "call-7.a_B")
    for name, start in _every(StreamStart):
        yield name, Job(key=key, engine="tone", start=start, seed=2**53 - 1)


def _pushes() -> Iterator[Named]:
    entries = [msgspec.Raw(encode_entry(items)) for _, items in _entries()][:3]
    yield "push: empty", Push()
    yield "push: full", Push([(5, 10, "abc", entries)], [3, 4], ["tone"], [9])


def _keys() -> Iterator[Named]:
    yield "plain", ("default", "call-7.a_B", "token")
    yield "strange", ("a/b {c}:*", "s", "token")


def _read_keys(data: bytes) -> Mapping[str, object]:
    tenant, stream_id, token = json.loads(data)
    keys, key = Keys("legato"), StreamKey(tenant, stream_id)
    stream = keys.stream(key)
    return {
        "stream": asdict(stream),
        "logs": [stream.log(direction, token) for direction in Direction],
        "jobs": keys.jobs,
        "registry": keys.registry(tenant, "engine"),
        "blob": keys.blob(tenant, "name"),
        "channel": keys.channel(token),
    }


def _note(name: str, read: Callable[[Mapping[str, Record]], Any]) -> Callable[[bytes], Any]:
    return lambda data: read({name: Record(data, 1)})


def _read_stream_note(known: Mapping[str, Record]) -> StreamNote:
    found = notes.stream_note(known)
    assert found is not None
    return found[0]


_OPEN = frozenset({"options", "offer", "waiting"})
_PLACES = (("place",),)

KINDS: Final[Mapping[str, Kind]] = {
    "client": Kind(lambda: _every(*get_args(ClientMessage)), encode, decode_client, free=_OPEN),
    "server": Kind(lambda: _every(*get_args(ServerMessage)), encode, decode_server, free=_OPEN),
    "frame": Kind(
        lambda: iter(FRAMES.items()),
        lambda frame: encode_frame(frame, frame.stream, frame.epoch),
        decode_frame,
    ),
    "entry": Kind(_entries, encode_entry, decode_entry, grown=(("*",),), free=_OPEN),
    "job": Kind(_jobs, encode_job, decode_job, grown=((),), free=_OPEN),
    "push": Kind(_pushes, encode_push, decode_push, grown=((),)),
    "note of a stream": Kind(
        lambda: _every(StreamNote),
        notes.encode,
        _note(notes.STREAM, _read_stream_note),
        free=_OPEN,
    ),
    "note of up": Kind(
        lambda: _every(UpNote),
        notes.encode,
        _note(Direction.UP.value, notes.up_note),
        grown=_PLACES,
    ),
    "note of down": Kind(
        lambda: _every(DownNote),
        notes.encode,
        _note(Direction.DOWN.value, notes.down_note),
        grown=_PLACES,
    ),
    "note of deliveries": Kind(
        lambda: _every(Tally),
        msgspec.msgpack.encode,
        lambda data: msgspec.msgpack.decode(data, type=Tally),
        grown=((),),
    ),
    "engine": Kind(lambda: _every(EngineRecord), encode_engine, decode_engine),
    "process": Kind(lambda: _every(ProcessRecord), encode_process, decode_process),
    "cluster": Kind(lambda: _every(Cluster), encode_cluster, decode_cluster, free=_OPEN),
    "keys": Kind(_keys, lambda names: json.dumps(names).encode(), _read_keys),
}
"""All of them; the first three go over the wire, the others stand in Redis or pass through it."""

JSON: Final = frozenset({"client", "server", "engine", "process", "cluster"})
"""Kinds that are JSON objects."""
