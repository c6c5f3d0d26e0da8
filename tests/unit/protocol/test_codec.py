import json
import math

import pytest

from legato.errors import LegatoError, MalformedMessage, MessageTooLarge, UnexpectedMessage
from legato.protocol.codec import (
    CLIENT_TYPES,
    MAX_NESTING,
    SERVER_TYPES,
    decode_client,
    decode_server,
    encode,
)
from legato.protocol.messages import (
    MAX_MESSAGE_BYTES,
    EndpointingSettings,
    Error,
    FlowControl,
    Message,
    Ping,
    Resume,
    Resumed,
    StreamStart,
    Text,
    Transcript,
    Welcome,
    WordTimes,
)


def start(**fields: object) -> str:
    return json.dumps({"type": "stream_start", "stream_id": "a", "task": "echo", **fields})


def nested(levels: int) -> object:
    value: object = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("as_bytes", [False, True])
def test_a_message_is_read_from_text_or_bytes(as_bytes: bool) -> None:
    text = '{"stream":3,"type":"text","seq":7,"text":"你好"}'

    message = decode_client(text.encode() if as_bytes else text)

    assert message == Text(stream=3, seq=7, text="你好")


def test_a_message_is_written_without_its_defaults() -> None:
    assert encode(Text(text="é", seq=0)) == '{"type":"text","seq":0,"text":"é"}'


def test_unknown_fields_are_ignored() -> None:
    text = '{"type":"ping","id":1,"colour":{"r":[1,2,null]},"time":2.5}'

    assert decode_client(text) == decode_server(text) == Ping(id=1, time=2.5)


@pytest.mark.parametrize(
    "text",
    ["", "nul", "{", '{"type":"ping","id":1} x', "{'type':'ping'}", "\ufeff{}", "\x00"],
)
def test_what_is_not_json_is_malformed(text: str) -> None:
    with pytest.raises(MalformedMessage, match="not JSON"):
        decode_client(text)


@pytest.mark.parametrize("text", [b"\xff", b'{"type":"text","text":"\xc3"}', '{"text":"\ud800"}'])
def test_what_is_not_utf_8_is_malformed(text: str | bytes) -> None:
    with pytest.raises(MalformedMessage, match="not JSON in UTF-8"):
        decode_client(text)


@pytest.mark.parametrize("text", ["1", "[]", '"ping"', "null", "{}", '{"type":5}', '{"type":null}'])
def test_what_has_no_type_is_malformed(text: str) -> None:
    with pytest.raises(MalformedMessage, match=r"object|type"):
        decode_client(text)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"type":"text"}', "text: Object missing required field `text`"),
        ('{"type":"text","text":5}', r"text: Expected `str`, got `int` - at `\$\.text`"),
        ('{"type":"text","text":"a","seq":-1}', r"Expected `int` >= 0 - at `\$\.seq`"),
        ('{"type":"text","text":"a","seq":4294967296}', r"<= 4294967295 - at `\$\.seq`"),
        ('{"type":"text","text":"a","seq":' + "9" * 5000 + "}", r"out of range - at `\$\.seq`"),
        ('{"type":"text","text":"a","seq":1.5}', r"got `float` - at `\$\.seq`"),
        ('{"type":"text","text":"a","stream":true}', r"got `bool` - at `\$\.stream`"),
        ('{"type":"finalize","sample":9007199254740992}', r"<= 9007199254740991 .*\$\.sample"),
        ('{"type":"flow_control","rate":-0.5}', r"Expected `float` >= 0.0 - at `\$\.rate`"),
        ('{"type":"flow_control","rate":1e999}', r"out of range - at `\$\.rate`"),
        ('{"type":"hello","version":1,"features":["a",1]}', r"at `\$\.features\[1\]`"),
        (start(endpointing={"silence": "0.5"}), r"got `str` - at `\$\.endpointing\.silence`"),
        (start(sample_rate="16k"), r"Expected `int`, got `str` - at `\$\.sample_rate`"),
        ('{"type":"resume","stream_id":"","token":"t"}', r"must be 1 to 64 .*\$\.stream_id"),
    ],
)
def test_a_wrong_field_is_named_by_its_path(text: str, sentence: str) -> None:
    with pytest.raises(MalformedMessage, match=sentence):
        decode_client(text)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_what_json_has_no_number_for_is_malformed(number: str) -> None:
    with pytest.raises(MalformedMessage, match="not JSON"):
        decode_client(f'{{"type":"flow_control","rate":{number}}}')


def test_a_quantity_that_the_stream_judges_is_left_to_it() -> None:
    message = decode_client(
        start(stream_id="../x", sample_rate=-1, channels=9, frame_ms=0, speed=-2, codec="mp3")
    )

    assert message == StreamStart(
        stream_id="../x",
        task="echo",
        sample_rate=-1,
        channels=9,
        frame_ms=0,
        speed=-2,
        codec="mp3",
    )


def test_an_unknown_type_is_unexpected_and_named() -> None:
    with pytest.raises(UnexpectedMessage, match="no message has type 'begin_stream'"):
        decode_client('{"type":"begin_stream","stream_id":"a"}')


def test_a_type_of_the_other_side_is_unexpected_and_named() -> None:
    with pytest.raises(UnexpectedMessage, match="`welcome` is never sent by the client"):
        decode_client('{"type":"welcome"}')
    with pytest.raises(UnexpectedMessage, match="`hello` is never sent by the server"):
        decode_server('{"type":"hello"}')


def test_a_hostile_type_is_shown_short_and_in_ascii() -> None:
    with pytest.raises(UnexpectedMessage) as raised:
        decode_client(json.dumps({"type": "\n文" + "x" * 100_000}))

    assert r"'\n\u6587xxx" in raised.value.message
    assert len(raised.value.message) < 200


def test_a_long_sentence_keeps_the_path() -> None:
    with pytest.raises(MalformedMessage) as raised:
        decode_server('{"type":"transcript","text":"","kind":"' + "x" * 100_000 + '"}')

    assert len(raised.value.message) < 400
    assert raised.value.message.endswith("at `$.kind`")


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"type":"ping","id":1,"x":' + "[" * 50_000 + "]" * 50_000 + "}",
        '{"x":' + "[" * 50_000 + "]" * 50_000 + ',"type":"text"}',
        start(options={"a": 1}).replace("1", '{"a":' * 30_000 + "1" + "}" * 30_000),
    ],
)
def test_deep_nesting_is_malformed(text: str) -> None:
    with pytest.raises(MalformedMessage):
        decode_client(text)


@pytest.mark.parametrize("number", [2**64, -(2**63) - 1])
def test_a_whole_number_that_the_bus_cannot_keep_is_malformed(number: int) -> None:
    decode_client(start(options={"a": 2**64 - 1, "b": [-(2**63)]}))
    with pytest.raises(MalformedMessage, match=r"more than 64 bits - at `\$\.options`"):
        decode_client(start(options={"a": {"b": [number]}}))


def test_nesting_that_another_stack_might_not_bear_is_malformed() -> None:
    decode_client(start(options={"a": nested(MAX_NESTING - 2)}))
    decode_server(encode(Error(code="overloaded", offer={"a": nested(MAX_NESTING - 2)})))

    with pytest.raises(
        MalformedMessage, match=r"more than 16 levels of nesting - at `\$\.options`"
    ):
        decode_client(start(options={"a": nested(MAX_NESTING)}))
    with pytest.raises(MalformedMessage, match=r"at `\$\.offer`"):
        decode_server(encode(Error(code="overloaded", offer={"a": {"b": nested(MAX_NESTING)}})))


@pytest.mark.parametrize("letter", ["a", "é", "文"])
def test_the_limit_counts_bytes(letter: str) -> None:
    shell = len(encode(Text(text="")))
    fitting = letter * ((MAX_MESSAGE_BYTES - shell) // len(letter.encode()))

    assert decode_client(encode(Text(text=fitting))) == Text(text=fitting)
    text = json.dumps({"type": "text", "text": fitting + letter}, ensure_ascii=False)
    for message in (text, text.encode()):
        with pytest.raises(MessageTooLarge, match="above the limit of 262144"):
            decode_client(message)
    with pytest.raises(MessageTooLarge, match="above the limit of 262144"):
        encode(Text(text=fitting + letter))


def test_null_is_written_where_it_is_meant() -> None:
    message = StreamStart(
        stream_id="a",
        task="recognize",
        endpointing=EndpointingSettings(silence=None),
        options={"x": None, "list": [1, 2.5, None], "null": "null"},
    )

    assert decode_client(encode(message)) == message
    assert encode(Resumed(recovered=False, missing=(0, 5))).endswith('"missing":[0,5]}')


@pytest.mark.parametrize(
    "message",
    [
        FlowControl(rate=math.nan),
        FlowControl(rate=math.inf),
        Transcript(kind="final", text="", words=[WordTimes(text="a", start=0, end=math.nan)]),
        StreamStart(stream_id="a", task="echo", options={"a": [{"b": -math.inf}]}),
        Resumed(recovered=True, missing=(0, math.inf)),  # type: ignore[arg-type]  # on purpose
    ],
)
def test_a_number_that_is_not_finite_is_never_written(message: Message) -> None:
    with pytest.raises(MalformedMessage, match="not finite"):
        encode(message)


@pytest.mark.parametrize(
    "message",
    [
        Text(text="\ud800"),
        StreamStart(stream_id="a", task="echo", options={"a": object()}),
        StreamStart(stream_id="a", task="echo", options={"a": nested(100_000)}),
    ],
)
def test_what_json_cannot_say_is_never_written(message: Message) -> None:
    with pytest.raises(MalformedMessage, match="cannot be written as JSON"):
        encode(message)


def test_each_side_reads_what_the_other_writes() -> None:
    welcome = Welcome(version=1, session_id="s", resume_token="t")

    assert decode_server(encode(welcome)) == welcome
    assert decode_client(encode(Resume(stream_id="a", token="t"))) == Resume(
        stream_id="a", token="t"
    )
    assert {"hello", "ping"} <= CLIENT_TYPES
    assert {"welcome", "ping"} <= SERVER_TYPES


def test_a_refusal_is_our_own_not_the_peers() -> None:
    with pytest.raises(LegatoError) as raised:
        decode_client("{}")

    assert not raised.value.remote
