import json

import pytest

from legato.bench.dialects import (
    CHUNK_BYTES,
    CHUNK_SAMPLES,
    DIALECTS,
    PCM,
    Legato,
    Pipecat,
    Plain,
    SocketIo,
)
from legato.bench.peers.pipecat_wire import audio_message
from legato.bench.wire_client import BINARY, TEXT, BadServer, Message
from legato.protocol.codec import decode_client, encode
from legato.protocol.media import AudioFrame, decode_frame, encode_frame
from legato.protocol.messages import Ack, Error, Stop, StreamEnd


def sent(data: bytes) -> list[Message]:
    """Read what a client sends; its mask is always zero, so it only has to be passed over."""
    found, at = [], 0
    while at < len(data):
        size, body = data[at + 1] & 0x7F, at + 2
        if size == 126:
            size, body = int.from_bytes(data[body : body + 2], "big"), body + 2
        assert data[body : body + 4] == b"\0\0\0\0"
        found.append((data[at] & 0x0F, data[body + 4 : body + 4 + size]))
        at = body + 4 + size
    return found


def echo(seq: int, pcm: bytes = PCM) -> bytes:
    return encode_frame(AudioFrame(pcm, seq), 1, 0)


def test_each_dialect_sends_a_whole_chunk() -> None:
    for make in DIALECTS.values():
        opcode, payload = sent(make().chunk(0))[-1]
        assert opcode == BINARY
        assert PCM in payload


def test_a_plain_answer_is_any_binary_message() -> None:
    assert (Plain().answers(BINARY, PCM), Plain().answers(TEXT, b"no")) == (1, 0)


def test_legato_acknowledges_with_the_next_chunk_what_has_come() -> None:
    dialect = Legato()
    assert [opcode for opcode, _ in sent(dialect.chunk(0))] == [BINARY]
    assert dialect.answers(TEXT, b"{}") == 0
    assert dialect.answers(BINARY, echo(0)) == 1
    (text, ack), (binary, chunk) = sent(dialect.chunk(1))
    assert (text, binary) == (TEXT, BINARY)
    message = decode_client(ack.decode())
    assert isinstance(message, Ack)
    assert (message.received_seq, message.received_upto) == (0, CHUNK_SAMPLES)
    frame = decode_frame(chunk)
    assert (frame.seq, frame.sample) == (1, CHUNK_SAMPLES)


@pytest.mark.parametrize("answer", [echo(1), echo(0, PCM[2:])])
def test_a_lost_or_cut_answer_is_no_answer(answer: bytes) -> None:
    with pytest.raises(BadServer, match="came after -1"):
        Legato().answers(BINARY, answer)


@pytest.mark.parametrize(
    "message",
    [Error(code="internal", message="no"), StreamEnd(seq=1, frames=1, samples=2)],
)
def test_a_stream_that_fails_is_told(message: Error | StreamEnd) -> None:
    with pytest.raises(BadServer, match="the stream failed"):
        Legato().answers(TEXT, encode(message).encode())


def test_legato_says_that_it_leaves() -> None:
    ((opcode, payload),) = sent(Legato().farewell())
    assert opcode == TEXT
    assert isinstance(decode_client(payload.decode()), Stop)


def test_a_socket_io_event_is_a_placeholder_and_its_attachment() -> None:
    (text, event), (binary, chunk) = sent(SocketIo().chunk(7))
    assert (text, binary) == (TEXT, BINARY)
    assert event.startswith(b"451-/ws,")
    name, attachment = json.loads(event[len(b"451-/ws,") :])
    assert (name, attachment) == ("audio_chunk", {"_placeholder": True, "num": 0})
    assert (decode_frame(chunk).seq, decode_frame(chunk).payload) == (7, PCM)


def test_a_result_answers_and_other_events_do_not() -> None:
    dialect = SocketIo()
    assert dialect.answers(TEXT, b'42/ws,["result",{"seq":0}]') == 1
    assert dialect.answers(TEXT, b'42/ws,["hello",{}]') == 0
    assert dialect.answers(TEXT, b"2") == 0
    with pytest.raises(BadServer, match="no room"):
        dialect.answers(TEXT, b'42/ws,["error",{"message":"no room"}]')


def test_an_engine_io_ping_is_answered() -> None:
    assert sent(SocketIo().reply(TEXT, b"2")) == [(TEXT, b"3")]
    assert SocketIo().reply(TEXT, b"42") == b""


def test_pipecat_may_regroup_audio() -> None:
    dialect = Pipecat()
    half = audio_message(bytes(CHUNK_BYTES // 2), sample_rate=16_000, channels=1)
    assert [dialect.answers(BINARY, half) for _ in range(4)] == [0, 1, 0, 1]
    assert dialect.answers(TEXT, half) == 0
