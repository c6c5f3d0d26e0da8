"""What both ends share, seen in a machine that has nothing else."""

import math

import pytest

from legato.audio import AudioFormat
from legato.errors import LegatoError, MessageTooLarge
from legato.protocol.codec import decode_client
from legato.protocol.media import AudioFrame, decode_frame
from legato.protocol.messages import Ack, FlowControl, Flush, Message, Ping, Text
from legato.session.client_stream import ClientStream
from legato.session.events import Progressed
from legato.session.lane import UNNUMBERED
from legato.session.machine import Session
from legato.session.states import LinkSignal, StreamSignal
from tests.unit.session.ends import PCM, start_of


class PlainSession(Session[ClientStream]):
    """Does what its test asks for, and remembers."""

    def __init__(self) -> None:
        super().__init__()
        self.own_timer = math.inf
        self.gaps: list[ClientStream] = []
        self.given_up: list[LegatoError] = []

    def connect(self) -> None:
        self._signal(LinkSignal.CONNECT)

    def close(self) -> None:
        self._signal(LinkSignal.CLOSE)

    def say(self, message: Message) -> None:
        self._send(message)

    def tell(self, stream: ClientStream) -> None:
        self._tell(Progressed(stream))

    def obey(self, rate: float, number: int | None) -> None:
        self._obey(FlowControl(rate=rate, stream=number), 0.0)

    def find(self, number: int) -> ClientStream | None:
        return self._find(number)

    def handle_timer(self, now: float) -> None:
        self._handle_streams(now)

    def add(self, number: int, *, reliable: bool = True) -> ClientStream:
        stream = ClientStream(start_of(number), AudioFormat(16_000), reliable=reliable)
        stream.signal(StreamSignal.STARTED)
        self.streams[number] = stream
        return stream

    def _own_timer(self) -> float:
        return self.own_timer

    def _tell_gap(self, stream: ClientStream, now: float) -> None:
        self.gaps.append(stream)

    def _give_up_on(self, stream: ClientStream, error: LegatoError) -> None:
        self.given_up.append(error)
        del self.streams[stream.number]


def connected() -> PlainSession:
    session = PlainSession()
    session.connect()
    return session


def numbers(frames: list[str | bytes]) -> list[int]:
    return [decode_frame(frame).stream for frame in frames if isinstance(frame, bytes)]


def test_events_are_taken_once() -> None:
    session = connected()
    stream = session.add(1)
    assert session.take_events() == []
    session.tell(stream)
    assert session.take_events() == [Progressed(stream)]
    assert session.take_events() == []


def test_frames_are_taken_once() -> None:
    session = connected()
    stream = session.add(1)
    for _ in range(2):
        stream.send_audio(PCM)
        assert len(session.take_frames(0.0)) == 1
    assert session.take_frames(0.0) == []


def test_control_goes_before_acks_and_acks_before_entries() -> None:
    session = connected()
    stream = session.add(1)
    stream.send_text("a")
    stream.owe_ack(0.0)
    session.say(Ping(id=1))
    said = [decode_client(str(frame)) for frame in session.take_frames(0.0)]
    assert [type(message) for message in said] == [Ping, Ack, Text]


def test_without_streams_there_is_only_control() -> None:
    session = connected()
    session.say(Ping(id=1))
    assert len(session.take_frames(0.0)) == 1


def test_an_ack_is_not_sent_before_it_is_due() -> None:
    session = connected()
    session.add(1).owe_ack(1.0)
    assert session.take_frames(0.9) == []
    assert len(session.take_frames(1.0)) == 1


@pytest.mark.parametrize("gone", [False, True])
def test_without_a_connection_no_entry_leaves(gone: bool) -> None:
    session = PlainSession()
    if gone:
        session.connect()
        session.close()
    stream = session.add(1)
    stream.send_audio(PCM)
    stream.owe_ack(0.0)
    assert session.take_frames(0.0) == []
    assert stream.out.queued == 1


@pytest.mark.parametrize("others", [0, 1])
def test_a_suspended_stream_sends_nothing(others: int) -> None:
    session = connected()
    stream = session.add(1)
    for number in range(others):
        session.add(2 + number)
    stream.send_audio(PCM)
    stream.owe_ack(0.0)
    stream.signal(StreamSignal.LOSE)
    assert session.take_frames(0.0) == []


def test_streams_take_turns() -> None:
    session = connected()
    for number in (1, 2):
        stream = session.add(number)
        for _ in range(2):
            stream.send_audio(PCM)
    assert sorted(numbers(session.take_frames(0.0, room_bytes=1000))) == [1, 2]
    assert sorted(numbers(session.take_frames(0.0))) == [1, 2]


def test_another_stream_begins_each_time() -> None:
    session = connected()
    for number in (1, 2):
        stream = session.add(number)
        for _ in range(2):
            stream.send_audio(PCM)
    first, second = (numbers(session.take_frames(0.0, room_bytes=1)) for _ in range(2))
    assert sorted(first + second) == [1, 2]


def test_one_that_has_less_to_say_does_not_hold_the_others() -> None:
    session = connected()
    session.add(1).send_audio(PCM)
    stream = session.add(2)
    for _ in range(3):
        stream.send_audio(PCM)
    assert sorted(numbers(session.take_frames(0.0))) == [1, 2, 2, 2]


@pytest.mark.parametrize("others", [0, 1])
def test_an_entry_that_cannot_be_coded_costs_its_stream_alone(others: int) -> None:
    session = connected()
    session.add(1).out.push(Text(text="x" * 300_000))
    session.streams[1].out.chars.grant(400_000)
    for number in range(others):
        session.add(2 + number).send_audio(PCM)
    assert len(session.take_frames(0.0)) == others
    assert isinstance(session.given_up[0], MessageTooLarge)


def test_the_first_timer_counts() -> None:
    session = connected()
    assert session.next_timer(0.0) == math.inf
    session.own_timer = 5.0
    assert session.next_timer(0.0) == 5.0
    session.add(1)
    assert session.next_timer(0.0) == 5.0
    session.add(2).owe_ack(3.0)
    assert session.next_timer(0.0) == 3.0


def test_what_waits_to_be_sent_waits_for_nothing() -> None:
    session = connected()
    session.say(Ping(id=1))
    assert session.next_timer(2.0) == 2.0


def test_what_does_not_arrive_is_repeated_where_links_lose() -> None:
    session = connected()
    session.add(1, reliable=False).out.push(AudioFrame(PCM, UNNUMBERED))
    assert len(session.take_frames(0.0)) == 1
    session.handle_timer(2.0)
    assert len(session.take_frames(2.0)) == 1


def test_a_missing_entry_is_told_after_a_while() -> None:
    session = connected()
    stream = session.add(1, reliable=False)
    stream.accept(1, Flush(), 0.0)
    session.handle_timer(0.1)
    assert session.gaps == []
    session.handle_timer(0.2)
    assert session.gaps == [stream]
    session.handle_timer(0.5)
    assert session.gaps == [stream]
    assert not stream.inbound.waiting


def test_a_pace_for_all_holds_for_all() -> None:
    session = connected()
    for number in (1, 2):
        session.add(number).send_audio(PCM)
    session.obey(0.0, None)
    assert session.take_frames(0.0) == []


def test_a_pace_for_one_holds_for_that_one() -> None:
    session = connected()
    for number in (1, 2):
        session.add(number).send_audio(PCM)
    session.obey(0.0, 1)
    session.obey(0.0, 9)
    assert numbers(session.take_frames(0.0)) == [2]


def test_number_0_means_the_only_stream() -> None:
    session = connected()
    assert session.find(0) is None
    stream = session.add(7)
    assert session.find(0) is stream
    assert session.find(7) is stream
    assert session.find(3) is None
    session.add(8)
    assert session.find(0) is None
