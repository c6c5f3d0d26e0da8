import msgspec
import pytest

from legato.errors import MalformedMessage
from legato.protocol.codec import decode_client, encode
from legato.protocol.streams import Ack, Continuation, NumberedMessage, StreamStart, Text


def test_the_defaults_of_a_start_are_speech_in_small_frames() -> None:
    start = StreamStart(stream_id="a", task="synthesize")

    assert (start.codec, start.sample_rate, start.channels) == ("pcm_s16le", 16_000, 1)
    assert (start.frame_ms, start.streaming, start.framing) == (20, True, "protobuf")


def test_starts_do_not_share_their_options() -> None:
    first = StreamStart(stream_id="a", task="echo")
    first.options["warm"] = True
    first.hotwords.append("legato")

    second = StreamStart(stream_id="b", task="echo")
    assert (second.options, second.hotwords) == ({}, [])


def test_a_new_ack_acknowledges_nothing() -> None:
    assert (Ack().received_seq, Ack().committed_seq) == (-1, -1)


def test_text_has_a_place_in_the_history_and_an_ack_has_none() -> None:
    assert issubclass(Text, NumberedMessage)
    assert not issubclass(Ack, NumberedMessage)


def test_where_a_stream_goes_on_travels_with_its_start() -> None:
    where = Continuation(
        epoch=2,
        token="t",
        utterance=3,
        speaking=True,
        sample=1_000,
        utterance_sample=400,
        received_upto=900,
    )
    start = StreamStart(stream_id="a", task="echo", continues=where)
    assert decode_client(encode(start)) == start
    assert '"continues":{"epoch":2,"token":"t","utterance":3' in encode(start)


def test_what_is_nought_is_left_out_of_it() -> None:
    assert msgspec.json.encode(Continuation(epoch=1)) == b'{"epoch":1}'
    assert "continues" not in encode(StreamStart(stream_id="a", task="echo"))


@pytest.mark.parametrize(
    "where",
    [
        "{}",
        '{"epoch":0}',
        '{"epoch":1,"sample":-1}',
        '{"epoch":4294967296}',
        '{"epoch":1,"utterance":2147483648}',
        '{"epoch":1,"sample":4503599627370496}',
        '{"epoch":1,"utterance_sample":4503599627370496}',
        '{"epoch":1,"received_upto":4503599627370496}',
    ],
)
def test_the_epoch_that_begins_is_one_that_follows(where: str) -> None:
    with pytest.raises(MalformedMessage):
        decode_client(
            f'{{"type":"stream_start","stream_id":"a","task":"echo","continues":{where}}}'
        )
