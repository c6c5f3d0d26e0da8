"""Both ends of a connection, brought to where a test begins."""

from __future__ import annotations

from typing import TypeVar

from legato.protocol.codec import decode_client, decode_server, encode
from legato.protocol.media import AudioFrame, decode_frame, encode_frame
from legato.protocol.messages import (
    Hello,
    Limits,
    Message,
    StreamStart,
    StreamStarted,
    Welcome,
)
from legato.session.client import ClientSession
from legato.session.client_stream import ClientStream
from legato.session.events import Event, StreamRequested
from legato.session.machine import Session
from legato.session.server import ServerSession
from legato.session.server_stream import ServerStream

PCM = bytes(640)
"""20 ms of silence at 16 kHz."""

SAMPLES = 320

HELLO = Hello(version=1)

Kind = TypeVar("Kind")


def start_of(number: int = 1, stream_id: str = "a", **fields: object) -> StreamStart:
    """A start that any server accepts."""
    wanted = {"stream": number, "stream_id": stream_id, "task": "echo", **fields}
    return StreamStart(**wanted)  # type: ignore[arg-type]  # fields of one test


def welcome_of(token: str = "token-1") -> Welcome:
    """A server's answer to hello."""
    return Welcome(version=1, session_id="s", resume_token=token)


def started_of(number: int = 1, **fields: int) -> StreamStarted:
    """A server's answer to a start."""
    return StreamStarted(
        stream=number,
        stream_id="a",
        task="echo",
        sample_rate=16_000,
        **fields,  # type: ignore[arg-type]  # fields of one test
    )


def frame_of(seq: int, payload: bytes = PCM, *, number: int = 1, **fields: int) -> bytes:
    """An audio frame as it arrives."""
    frame = AudioFrame(payload, seq, **fields)  # type: ignore[arg-type]  # numbers of one test
    return encode_frame(frame, number, 0)


def new_server(
    *, reliable: bool = True, max_streams: int = 4, token: str = "token-1"
) -> ServerSession:
    """A server whose client has said nothing yet."""
    return ServerSession(
        session_id="s",
        resume_token=token,
        now=0.0,
        limits=Limits(max_streams=max_streams),
        reliable=reliable,
    )


def greeted_server(
    *, reliable: bool = True, max_streams: int = 4, token: str = "token-1"
) -> ServerSession:
    """A server that has welcomed its client, and said so."""
    server = new_server(reliable=reliable, max_streams=max_streams, token=token)
    server.receive(encode(HELLO), 0.0)
    server.take_events()
    server.take_frames(0.0)
    return server


def accept(server: ServerSession, start: StreamStart, now: float = 0.0) -> ServerStream:
    """Have a server run a stream; what it says to that is taken."""
    server.receive(encode(start), now)
    assert server.take_events()[-1] == StreamRequested(start)
    stream = server.accept(start.stream, engine="e", voice="v", now=now)
    assert stream is not None
    assert server.take_events() == []
    server.take_frames(now)
    return stream


def connected_client(*, reliable: bool = True) -> ClientSession:
    """A client that was welcomed; what it said to that is taken."""
    client = ClientSession(HELLO, reliable=reliable)
    client.connected(0.0)
    client.receive(encode(welcome_of()), 0.0)
    client.take_events()
    client.take_frames(0.0)
    return client


def open_stream(client: ClientSession, **credit: int) -> ClientStream:
    """A stream of a client that the server runs; what it said to that is taken."""
    stream = client.start(start_of())
    client.receive(encode(started_of(stream.number, **credit)), 0.0)
    client.take_events()
    client.take_frames(0.0)
    return stream


def said(
    session: Session[ClientStream] | Session[ServerStream], now: float = 0.0
) -> list[Message | AudioFrame]:
    """What a session sends now, read as its peer does."""
    decode = decode_client if isinstance(session, ClientSession) else decode_server
    return [
        decode(frame) if isinstance(frame, str) else decode_frame(frame)
        for frame in session.take_frames(now)
    ]


def only(kind: type[Kind], things: list[Event] | list[Message | AudioFrame]) -> Kind:
    """The one thing of its kind."""
    (found,) = [thing for thing in things if isinstance(thing, kind)]
    return found
