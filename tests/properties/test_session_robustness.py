"""Whatever a peer sends, a session does not break, and all that it says itself is valid."""

from collections.abc import Callable, Sequence
from contextlib import suppress

from hypothesis import given, settings
from hypothesis import strategies as st

from legato.errors import LegatoError, SessionExpired
from legato.protocol.codec import decode_client, decode_server, encode
from legato.protocol.media import AudioFrame, decode_frame, encode_frame
from legato.protocol.messages import (
    Ack,
    Cancel,
    Draining,
    Error,
    Finalize,
    FlowControl,
    Flush,
    Hello,
    Message,
    Notice,
    Ping,
    Pong,
    Resume,
    Resumed,
    Stop,
    StreamEnd,
    StreamStart,
    StreamStarted,
    SwitchDown,
    Text,
    Transcript,
    UtteranceEnd,
    Welcome,
)
from legato.session.client import ClientSession
from legato.session.client_stream import ClientStream
from legato.session.events import (
    Event,
    Received,
    ResumeRequested,
    SessionFailed,
    StreamRequested,
)
from legato.session.lane import Item
from legato.session.server import ServerSession
from legato.session.server_stream import ServerStream

small = st.integers(0, 3)
seqs = st.one_of(st.integers(0, 8), st.just(2**32 - 1))
last_seqs = st.one_of(st.integers(-1, 8), st.just(2**32 - 1))
positions = st.sampled_from([0, 320, 10**6, 2**53 - 1])
names = st.sampled_from(["a", "b", "c"])
words = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=20)
seconds = st.sampled_from([0.0, 0.5, 1e308])
instants = st.lists(st.sampled_from([0.0, 0.05, 3.0, 40.0]), min_size=40, max_size=40)


def of_stream(
    kind: Callable[..., Message], /, **fields: st.SearchStrategy[object]
) -> st.SearchStrategy[Message]:
    return st.builds(kind, stream=small, **fields)


def numbered(
    kind: Callable[..., Message], /, **fields: st.SearchStrategy[object]
) -> st.SearchStrategy[Message]:
    return st.builds(kind, stream=small, seq=st.one_of(st.none(), seqs), **fields)


both: list[st.SearchStrategy[Message]] = [
    st.builds(Ping, id=small, time=seconds),
    st.builds(Pong, id=small),
    st.builds(FlowControl, rate=seconds, stream=st.one_of(st.none(), small)),
    of_stream(
        Ack,
        received_seq=last_seqs,
        committed_seq=last_seqs,
        received_upto=positions,
        played_upto=st.one_of(st.none(), positions),
        credit_samples=st.one_of(st.none(), positions),
        credit_chars=st.one_of(st.none(), positions),
    ),
    numbered(SwitchDown, rung=st.just("low"), sample=positions),
    numbered(StreamEnd),
]
from_clients = st.one_of(
    *both,
    st.builds(Hello, version=st.sampled_from([1, 1, 1, 2])),
    st.builds(
        StreamStart,
        stream=small,
        stream_id=names,
        task=st.sampled_from(["echo", "synthesize", "sing"]),
        sample_rate=st.sampled_from([8_000, 16_000, 7]),
        framing=st.sampled_from(["protobuf", "protobuf", "raw", "cooked"]),
    ),
    numbered(Text, text=words),
    numbered(Flush),
    numbered(Finalize),
    numbered(Cancel, utterance=small),
    of_stream(Stop),
    of_stream(Resume, stream_id=names, token=words, received_seq=last_seqs, sent_seq=last_seqs),
)
from_servers = st.one_of(
    *both,
    st.builds(Welcome, version=st.just(1), session_id=st.just("s"), resume_token=words),
    of_stream(
        StreamStarted,
        stream_id=names,
        task=st.just("echo"),
        sample_rate=st.just(16_000),
        credit_samples=positions,
        received_seq=last_seqs,
    ),
    numbered(Transcript, kind=st.just("final"), text=words),
    numbered(
        UtteranceEnd,
        utterance=small,
        reason=st.sampled_from(["done", "cancelled"]),
        sample=positions,
        sent_seq=st.one_of(st.none(), last_seqs),
    ),
    of_stream(Resumed, recovered=st.booleans(), received_seq=last_seqs),
    of_stream(Notice, kind=st.just("queued")),
    st.builds(Draining, deadline=seconds, resume_token=st.one_of(st.none(), words)),
    st.builds(
        Error,
        code=st.sampled_from(["sequence_gap", "session_expired", "internal", "new_code"]),
        stream=st.one_of(st.none(), small),
        expected=st.one_of(st.none(), seqs),
    ),
)
frames = st.builds(
    lambda payload, seq, stream, sample, utterance, last: encode_frame(
        AudioFrame(payload, seq, last, sample=sample, utterance=utterance), stream, 0
    ),
    st.sampled_from([b"", b"\0" * 640, b"\0" * 641, b"\0" * 96_000]),
    seqs,
    small,
    positions,
    small,
    st.booleans(),
)
rubbish = st.one_of(st.binary(max_size=50), st.text(max_size=50), st.just("[" * 5_000))


def wire(messages: st.SearchStrategy[Message]) -> st.SearchStrategy[list[str | bytes]]:
    """Lists of what may arrive: mostly valid messages, in any order."""
    said = messages.map(encode)
    return st.lists(st.one_of(said, said, said, frames, rubbish), max_size=40)


class Server:
    """A server whose shell answers somehow.

    Args:
        choices: Decides how.
        reliable: What the session believes of its link.
    """

    def __init__(self, choices: list[bool], *, reliable: bool) -> None:
        self.session = ServerSession(session_id="s", resume_token="t", now=0.0, reliable=reliable)
        self.failures = 0
        self._streams: list[ServerStream] = []
        self._choices = iter(choices)

    def choose(self) -> bool:
        """Decide something."""
        return next(self._choices, True)

    def step(self, data: str | bytes, now: float) -> None:
        """Take one message and do all that a shell does after it."""
        session = self.session
        session.receive(data, now)
        if now >= session.next_timer(now):
            session.handle_timer(now)
        for event in session.take_events():
            self._handle(event, now)
        was_raw = any(stream.raw for stream in self._streams)
        for frame in session.take_frames(now):
            if isinstance(frame, str):
                decode_server(frame)
            elif not was_raw:
                decode_frame(frame)
        self._streams = [stream for stream in self._streams if not stream.over]

    def _handle(self, event: Event, now: float) -> None:
        session = self.session
        match event:
            case StreamRequested() if self.choose():
                number = event.start.stream
                stream = session.accept(number, engine="e", voice=None, now=now)
                self._streams += [stream] if stream is not None else []
            case StreamRequested():
                session.refuse(event.start.stream, SessionExpired())
            case ResumeRequested():
                if self.choose() and self._streams:
                    session.attach(self._streams[0], event.resume, now)
                else:
                    session.refuse(event.resume.stream, SessionExpired())
            case Received(stream=ServerStream() as stream):
                self._answer(stream, event.items, now)
            case SessionFailed():
                self.failures += 1

    def _answer(self, stream: ServerStream, items: Sequence[Item], now: float) -> None:
        last = items[-1].seq or 0
        stream.stored(last, now)
        if self.choose():
            stream.relay([item for item in items if isinstance(item, AudioFrame)])
        if self.choose():
            stream.committed(last, stream.received_upto, 0, now)


@given(
    data=wire(from_clients),
    greeted=st.booleans(),
    waits=instants,
    choices=st.lists(st.booleans(), max_size=20),
    reliable=st.booleans(),
)
@settings(max_examples=300)
def test_nothing_that_a_client_sends_breaks_a_server(
    data: list[str | bytes],
    greeted: bool,
    waits: list[float],
    choices: list[bool],
    reliable: bool,
) -> None:
    server, now = Server(choices, reliable=reliable), 0.0
    if greeted:
        server.step(encode(Hello(version=1)), now)
    for message, wait in zip(data, waits, strict=False):
        now += wait
        server.step(message, now)
    assert server.failures <= 1


@given(data=wire(from_servers), greeted=st.booleans(), waits=instants, reliable=st.booleans())
@settings(max_examples=300)
def test_nothing_that_a_server_sends_breaks_a_client(
    data: list[str | bytes], greeted: bool, waits: list[float], reliable: bool
) -> None:
    client, now = ClientSession(Hello(version=1), reliable=reliable), 0.0
    streams = [client.start(StreamStart(stream_id=name, task="echo")) for name in "ab"]
    client.connected(now)
    if greeted:
        client.receive(encode(Welcome(version=1, session_id="s", resume_token="t")), now)
    for message, wait in zip(data, waits, strict=False):
        now += wait
        try:
            client.receive(message, now)
        except LegatoError:
            client.disconnected(now)
            client.connected(now)
        if now >= client.next_timer(now):
            client.handle_timer(now)
        for event in client.take_events():
            assert not isinstance(event, Received) or event.items
        for frame in client.take_frames(now):
            decode_client(frame) if isinstance(frame, str) else decode_frame(frame)
        speak(streams, now)


def speak(streams: list[ClientStream], now: float) -> None:
    """Use the streams as an application does, whatever became of them."""
    for stream in streams:
        with suppress(LegatoError):
            stream.send_audio(bytes(640))
            stream.send_text("hello")
        stream.consumed(stream.received_upto, now)
        stream.cancel(max(0, stream.utterance - 1))
