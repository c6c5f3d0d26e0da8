from collections.abc import Sequence

import pytest

from legato.bench.load import FRAME_BYTES, Messages, Peer
from legato.bench.peers.pipecat_wire import audio_message
from legato.bench.peers.speakers import ANSWERS, BareSpeaker, LegatoSpeaker, PipecatSpeaker
from legato.errors import ConnectionLost
from legato.protocol.codec import decode_client, encode
from legato.protocol.media import AudioFrame, decode_frame, encode_frame
from legato.protocol.messages import (
    Ack,
    Hello,
    Notice,
    Stop,
    StreamStart,
    StreamStarted,
    Welcome,
)


class FakeSocket:
    """Gives prepared answers and keeps what it is told."""

    def __init__(self, *answers: str) -> None:
        self._answers = list(answers)
        self.sent: list[str | bytes] = []

    async def send(self, message: str | bytes) -> None:
        self.sent.append(message)

    async def recv(self) -> str:
        return self._answers.pop(0)


async def greet(speaker: Peer, *answers: str) -> Sequence[str | bytes]:
    socket = FakeSocket(*answers)
    await speaker.greet(socket)  # type: ignore[arg-type]  # a fake of the two things it uses
    return socket.sent


def text_of(messages: Messages) -> list[str]:
    return [message for message in messages if isinstance(message, str)]


async def test_legato_is_greeted_as_a_client_does_and_waited_for() -> None:
    welcome = encode(Welcome(version=1, session_id="s", resume_token="t"))
    started = encode(StreamStarted(stream=1, stream_id="x", task="echo", sample_rate=16_000))
    sent = [decode_client(one) for one in await greet(LegatoSpeaker(), welcome, started)]
    assert [type(one) for one in sent] == [Hello, StreamStart]


async def test_a_stream_that_does_not_start_is_an_error() -> None:
    news = [encode(Notice(kind="queued"))] * ANSWERS
    with pytest.raises(ConnectionLost, match="does not start"):
        await greet(LegatoSpeaker(), *news)


def test_legato_frames_are_numbered_and_acknowledged_every_100_ms() -> None:
    speaker = LegatoSpeaker()
    sent: list[Messages] = []
    for index in range(11):
        sent.append(speaker.encode(index))
        assert speaker.decode(encode_frame(AudioFrame(b"\0" * 640, index), 1, 0)) == 1
    frames = [decode_frame(bytes_of(messages)) for messages in sent]
    assert [(frame.seq, frame.sample, frame.stream) for frame in frames[:2]] == [
        (0, 0, 1),
        (1, 320, 1),
    ]
    acks = {index: text_of(messages) for index, messages in enumerate(sent) if text_of(messages)}
    assert list(acks) == [5, 10]
    ack = decode_client(acks[10][0])
    assert isinstance(ack, Ack)
    assert (ack.received_seq, ack.received_upto, ack.committed_upto) == (9, 3200, 3200)
    assert ack.credit_samples == 3200 + 480_000


def bytes_of(messages: Messages) -> bytes:
    assert isinstance(messages[-1], bytes)
    return messages[-1]


def test_legato_talk_is_no_frame_and_its_end_is_told() -> None:
    speaker = LegatoSpeaker()
    assert speaker.decode(encode(Notice(kind="queued"))) == 0
    assert [type(decode_client(one)) for one in text_of(speaker.farewell())] == [Stop]


async def test_a_bare_echo_gets_pcm_and_nothing_else() -> None:
    speaker = BareSpeaker()
    assert await greet(speaker) == []
    assert speaker.encode(3) == [bytes(FRAME_BYTES)]
    assert (speaker.decode(b"x"), speaker.decode("x")) == (1, 0)
    assert speaker.farewell() == []


async def test_pipecat_may_regroup_audio_and_frames_are_still_counted() -> None:
    speaker = PipecatSpeaker()
    assert await greet(speaker) == []
    assert speaker.encode(0) == [audio_message(bytes(640), sample_rate=16_000, channels=1)]
    sizes = [320, 320, 1280, 639, 1]
    answers = [audio_message(bytes(size), sample_rate=16_000, channels=1) for size in sizes]
    assert [speaker.decode(answer) for answer in answers] == [0, 1, 2, 0, 1]
    assert speaker.decode("text") == 0
    assert speaker.farewell() == []
