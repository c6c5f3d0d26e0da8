import math

import pytest

from legato.audio import AudioFormat
from legato.errors import MalformedMessage, UnsupportedFormat
from legato.protocol.messages import Continuation, EndpointingSettings, StreamStart
from legato.session.offer import check_start


def start(**fields: object) -> StreamStart:
    return StreamStart(**{"stream_id": "a", "task": "echo", **fields})  # type: ignore[arg-type]  # fields of one test


@pytest.mark.parametrize("task", ["synthesize", "recognize", "echo"])
@pytest.mark.parametrize("framing", ["protobuf", "raw"])
def test_what_can_be_served_gives_its_format(task: str, framing: str) -> None:
    wanted = start(task=task, framing=framing, sample_rate=44_100, channels=2)
    assert check_start(wanted) == AudioFormat(44_100, 2)


def test_a_stream_may_go_on_where_it_stood() -> None:
    where = Continuation(epoch=1, sample=9, utterance_sample=4, received_upto=4)
    check_start(start(continues=where))


def test_all_that_recognition_may_ask_for_is_allowed() -> None:
    settings = EndpointingSettings(silence=None, threshold=0.9)
    check_start(
        start(language="en-GB", voice="v", engine="e", hotwords=["Legato"], endpointing=settings)
    )
    check_start(start(voice="x" * 128, hotwords=["x" * 128] * 1000))
    check_start(start(endpointing=EndpointingSettings(silence=0.1)))


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"stream_id": ""}, "stream_id"),
        ({"task": "sing"}, "task 'sing' is unknown; use one of synthesize, recognize, echo"),
        ({"framing": "cooked"}, "framing 'cooked' is unknown; use one of protobuf, raw"),
        ({"speed": 3.0}, r"speed 3.0 is outside 0.5 to 2.0"),
        ({"speed": math.nan}, "speed nan"),
        ({"engine": "x" * 129}, "engine has 129 characters, more than 128"),
        ({"voice": "x" * 129}, "voice"),
        ({"language": "x" * 129}, "language"),
        ({"hotwords": ["x"] * 1001}, "1001 hotwords are more than 1000"),
        ({"hotwords": ["x" * 129]}, "a hotword has 129 characters, more than 128"),
        ({"endpointing": EndpointingSettings(silence=0.01)}, "silence 0.01 is outside 0.1 to 10 s"),
        ({"framing": "raw", "continues": Continuation(epoch=1)}, "no next epoch"),
        ({"continues": Continuation(epoch=1, utterance_sample=2, received_upto=1)}, "lies before"),
        ({"endpointing": EndpointingSettings(silence=11.0)}, "silence"),
        ({"endpointing": EndpointingSettings(threshold=0.0)}, "threshold 0.0 is outside 0 to 1"),
        ({"endpointing": EndpointingSettings(threshold=1.0)}, "threshold"),
    ],
)
def test_what_no_server_could_serve_is_malformed(fields: dict[str, object], reason: str) -> None:
    with pytest.raises(MalformedMessage, match=reason):
        check_start(start(**fields))


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        (
            {"codec": "mp3"},
            "codec .mp3. is not served here; use one of pcm_s16le, mulaw, alaw, opus",
        ),
        ({"codec": "opus", "sample_rate": 22_050}, "22050 Hz; use one of 8000, 12000, 16000"),
        (
            {"codec": "opus", "frame_ms": 30},
            "no packet of 30 ms; frame_ms is one of 10, 20, 40, 60",
        ),
        ({"codec": "opus", "channels": 3}, "channels"),
        ({"codec": "opus", "framing": "raw"}, "raw framing is bare pcm_s16le; for opus"),
        ({"codec": "alaw", "framing": "raw"}, "raw framing is bare pcm_s16le; for alaw"),
        ({"codec": "mulaw", "frame_ms": 201}, "frame_ms"),
        ({"codec": "mulaw", "sample_rate": 7_999}, "sample_rate"),
        ({"frame_ms": 5}, "frame_ms 5 is outside 10 to 200"),
        ({"frame_ms": 201}, "frame_ms"),
        ({"sample_rate": 7_999}, "sample_rate"),
        ({"channels": 3}, "channels"),
    ],
)
def test_a_format_that_is_not_served_is_said_so(fields: dict[str, object], reason: str) -> None:
    with pytest.raises(UnsupportedFormat, match=reason):
        check_start(start(**fields))


@pytest.mark.parametrize("field", ["task", "framing", "codec"])
def test_a_refusal_quotes_little_of_what_it_refuses(field: str) -> None:
    with pytest.raises((MalformedMessage, UnsupportedFormat)) as caught:
        check_start(start(**{field: "x" * 100_000}))
    assert len(caught.value.message) < 300


@pytest.mark.parametrize(
    "fields",
    [
        {"codec": "opus", "sample_rate": rate, "channels": channels, "frame_ms": ms}
        for rate in (8_000, 12_000, 16_000, 24_000, 48_000)
        for channels in (1, 2)
        for ms in (10, 20, 40, 60)
    ],
)
def test_opus_is_served_at_the_rates_that_it_has(fields: dict[str, object]) -> None:
    assert check_start(start(**fields)).sample_rate == fields["sample_rate"]


@pytest.mark.parametrize("codec", ["mulaw", "alaw"])
@pytest.mark.parametrize("rate", [8_000, 22_050, 48_000])
def test_telephony_is_served_at_any_rate(codec: str, rate: int) -> None:
    assert check_start(start(codec=codec, sample_rate=rate)) == AudioFormat(rate)


def test_the_bitrate_of_opus_is_a_number_that_it_has() -> None:
    check_start(start(codec="opus", options={"bitrate": 16_000}))
    with pytest.raises(MalformedMessage, match="bitrate is bits a second, 6000 to 256000"):
        check_start(start(codec="opus", options={"bitrate": "high"}))


def test_a_bitrate_of_something_else_is_the_engines_business() -> None:
    check_start(start(options={"bitrate": "high"}))
