"""Every kind of broken input: a stable code, a sentence, and nobody else notices."""

import json

import pytest

from legato.protocol.media import AudioFrame, encode_frame
from tests.integration.gateway.wire import FRAME, Peer, Plain, Site, fresh_id, serving
from tests.unit.gateway.transport import BINARY, close_code, frame, handshake

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]

START = {"type": "stream_start", "stream": 1, "task": "recognize"}


def start(**fields: object) -> str:
    """A start with an id of its own."""
    return json.dumps({**START, "stream_id": fresh_id(), **fields})


# messages that are none


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("", "malformed_message"),
        ("{", "malformed_message"),
        ("[]", "malformed_message"),
        ("null", "malformed_message"),
        ('{"type":7}', "malformed_message"),
        ('{"type":"ping","id":"one"}', "malformed_message"),
        ('{"type":"ping","id":-1}', "malformed_message"),
        ('{"type":"ping","id":1,"time":NaN}', "malformed_message"),
        ("[" * 100_000, "malformed_message"),
        ('{"type":"dance"}', "unexpected_message"),
        (
            '{"type":"welcome","version":1,"session_id":"a","resume_token":"b"}',
            "unexpected_message",
        ),
        ('{"type":"hello","version":1}', "unexpected_message"),
        ('{"type":"flush","stream":9,"seq":0}', "unexpected_message"),
        ('{"type":"stop","stream":9}', "unexpected_message"),
        (b"", "unexpected_message"),
        (b"\xff\xff\xff", "malformed_message"),
        (encode_frame(AudioFrame(FRAME), 9, 0), "unexpected_message"),
    ],
    ids=lambda value: str(value)[:24],
)
async def test_a_broken_message_is_told_and_the_connection_goes_on(
    site: Site, bystander: Peer, message: str | bytes, code: str
) -> None:
    async with site.peer() as peer:
        await peer.wire.send(message)
        await peer.error(code)
        await peer.start("echo")
        await peer.send(FRAME)
        assert (await peer.frames(1))[0].payload == FRAME


async def test_broken_utf_8_is_told_and_the_connection_goes_on(site: Site, bystander: Peer) -> None:
    async with Plain(site.server.port) as plain:
        await plain.open()
        await plain.send(frame(b'{"type":"ping","id":1}\xff', 1))
        assert b'"malformed_message"' in await plain.read_until(b"error")
        await plain.send(frame(b'{"type":"ping","id":1}', 1))
        await plain.read_until(b"pong")


async def test_unknown_fields_are_ignored(site: Site) -> None:
    async with site.peer() as peer:
        await peer.say("ping", id=1, mood="fine")
        assert (await peer.hear("pong"))["id"] == 1


async def test_five_broken_messages_close_with_4400(site: Site, bystander: Peer) -> None:
    async with site.peer() as peer:
        for _ in range(5):
            await peer.wire.send("{")
        for _ in range(5):
            await peer.error("malformed_message")
        assert await peer.closed() == (4400, "malformed_message")


async def test_another_version_is_refused_with_those_that_are_spoken(site: Site) -> None:
    async with site.peer(hello=False) as peer:
        await peer.say("hello", version=2)
        assert "speaks 1" in (await peer.error("unsupported_version"))["message"]
        assert (await peer.closed())[0] == 4400


async def test_hello_comes_first(site: Site) -> None:
    async with site.peer(hello=False) as peer:
        await peer.wire.send(start())
        await peer.error("unexpected_message")
        await peer.greet()


# size


async def test_the_largest_message_is_read(site: Site) -> None:
    async with site.peer() as peer:
        await peer.wire.send("x" * 262_144)
        await peer.error("malformed_message")


@pytest.mark.parametrize("text", [True, False])
async def test_a_byte_more_is_closed_with_1009(site: Site, bystander: Peer, *, text: bool) -> None:
    async with site.peer() as peer:
        await peer.wire.send("x" * 262_145 if text else bytes(262_145))
        assert (await peer.closed())[0] == 1009


async def test_so_it_is_in_fragments(site: Site, bystander: Peer) -> None:
    async with site.peer() as peer:
        await peer.wire.send(iter([bytes(100_000)] * 3))
        assert (await peer.closed())[0] == 1009


async def test_the_header_is_enough(site: Site, bystander: Peer) -> None:
    async with Plain(site.server.port) as plain:
        await plain.send(handshake())
        await plain.read_until(b"\r\n\r\n")
        await plain.send(frame(b"", BINARY, declared=2**40))
        assert close_code(await plain.read_all()) == 1009


async def test_empty_fragments_without_end_hold_nothing(site: Site, bystander: Peer) -> None:
    async with Plain(site.server.port) as plain:
        await plain.open()
        await plain.send(frame(b"", 1, fin=False) + frame(b"", 0, fin=False) * 100_000)
        await plain.send(frame(b'{"type":"ping","id":7}', 0))
        await plain.read_until(b"pong")


# starts


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"task": "dance"}, "malformed_message"),
        ({"stream_id": ""}, "malformed_message"),
        ({"stream_id": "../etc"}, "malformed_message"),
        ({"stream_id": "x" * 65}, "malformed_message"),
        ({"framing": "smoke"}, "malformed_message"),
        ({"engine": "nobody"}, "unknown_engine"),
        ({"task": "synthesize", "voice": "nobody"}, "unknown_voice"),
        ({"task": "synthesize", "engine": "tone", "voice": "nobody"}, "unknown_voice"),
        ({"codec": "mp3"}, "unsupported_format"),
        ({"codec": "opus", "sample_rate": 22_050}, "unsupported_format"),
        ({"codec": "opus", "frame_ms": 30}, "unsupported_format"),
        ({"sample_rate": 7_999}, "unsupported_format"),
        ({"sample_rate": 48_001}, "unsupported_format"),
        ({"sample_rate": 0}, "unsupported_format"),
        ({"channels": 0}, "unsupported_format"),
        ({"channels": 3}, "unsupported_format"),
        ({"frame_ms": 5}, "unsupported_format"),
        ({"task": "synthesize", "speed": 9}, "malformed_message"),
        ({"endpointing": {"silence": 99}}, "malformed_message"),
        ({"framing": "raw"}, "unexpected_message"),
    ],
    ids=str,
)
async def test_a_start_that_cannot_be_served_ends_that_stream_alone(
    site: Site, bystander: Peer, fields: dict[str, object], code: str
) -> None:
    async with site.peer() as peer:
        await peer.start("echo", stream=2)
        await peer.wire.send(start(**fields))
        await peer.send(FRAME, stream=1)  # in flight already: dropped silently
        assert (await peer.error(code))["stream"] == 1
        await peer.send(FRAME, stream=2, seq=0)
        assert (await peer.frames(1))[0].stream == 2


async def test_the_last_stream_too_many_is_refused() -> None:
    async with serving(max_streams=2) as site, site.peer() as peer:
        await peer.start("echo", stream=1)
        await peer.start("echo", stream=2)
        await peer.wire.send(start(stream=3))
        error = await peer.error("overloaded")
        assert (error["stream"], error["retryable"]) == (3, True)
        await peer.send(FRAME, stream=2)
        await peer.frames(1)


async def test_too_much_behind_a_start_is_refused_and_the_rest_goes_on(
    site: Site, bystander: Peer
) -> None:
    async with site.peer() as peer:
        await peer.wire.send(start(task="echo"))
        for _ in range(2_000):
            await peer.wire.send(b"\x12")  # broken too, but for what is dropped
        assert (await peer.closed())[0] == 4400


# a start that comes twice


async def test_the_same_start_again_is_the_running_stream_s_state(site: Site) -> None:
    async with site.peer() as peer:
        name = fresh_id()
        await peer.start("echo", stream_id=name)
        await peer.send(FRAME, FRAME)
        await peer.frames(2)
        again = await peer.start("echo", stream_id=name)
        assert again["received_seq"] == 1
        await peer.send(FRAME)
        await peer.frames(1)


async def test_with_other_parameters_it_is_refused_and_the_stream_runs_on(site: Site) -> None:
    async with site.peer() as peer:
        name = fresh_id()
        await peer.start("echo", stream_id=name)
        await peer.wire.send(start(task="echo", stream_id=name, sample_rate=8_000))
        await peer.error("stream_exists")
        await peer.wire.send(start(task="echo", stream_id=name, stream=2))
        await peer.error("stream_exists")
        await peer.send(FRAME)
        await peer.frames(1)


async def test_on_another_connection_it_is_refused_and_the_stream_runs_on(site: Site) -> None:
    async with site.peer() as peer, site.peer() as other:
        name = fresh_id()
        await peer.start("echo", stream_id=name)
        await other.wire.send(start(task="echo", stream_id=name))
        assert (await other.error("stream_exists"))["stream"] == 1
        await peer.send(FRAME)
        await peer.frames(1)


async def test_an_id_that_was_stopped_is_not_used_again_at_once(site: Site) -> None:
    async with site.peer() as peer:
        name = fresh_id()
        await peer.start("echo", stream_id=name)
        await peer.say("stop", stream=1)
        await peer.wire.send(start(task="echo", stream_id=name, stream=2))
        await peer.error("stream_exists")


# audio


async def test_audio_that_ends_mid_sample_fails_its_stream(site: Site, bystander: Peer) -> None:
    async with site.peer() as peer:
        await peer.start("echo", stream=1)
        await peer.start("echo", stream=2)
        await peer.send(b"odd", stream=1)
        assert (await peer.error("bad_audio"))["stream"] == 1
        await peer.send(FRAME, stream=2, seq=0)
        assert (await peer.frames(1))[0].stream == 2


async def test_half_a_stereo_sample_is_no_whole_one(site: Site) -> None:
    async with site.peer() as peer:
        await peer.start("echo", channels=2)
        await peer.send(bytes(6))
        await peer.error("bad_audio")


async def test_a_gap_is_told_once_and_nothing_behind_it_is_taken(
    site: Site, bystander: Peer
) -> None:
    async with site.peer() as peer:
        await peer.start("echo")
        await peer.send(FRAME)
        await peer.send(FRAME, FRAME, seq=2)
        error = await peer.error("sequence_gap")
        assert (error["expected"], error["retryable"]) == (1, True)
        await peer.send(FRAME, FRAME, FRAME, seq=1)
        assert [frame.seq for frame in await peer.frames(4)] == [0, 1, 2, 3]


async def test_a_gap_is_no_strike(site: Site) -> None:
    async with site.peer() as peer:
        await peer.start("echo")
        for seq in range(10):
            await peer.send(FRAME, seq=seq + 1)
            await peer.error("sequence_gap")
            await peer.send(FRAME, seq=seq)
            await peer.frames(1)


async def test_a_duplicate_is_acknowledged_and_not_taken(site: Site) -> None:
    async with site.peer() as peer:
        await peer.start("echo")
        await peer.send(FRAME)
        await peer.send(bytes(640), seq=0)
        await peer.send(FRAME, seq=1)
        assert [frame.payload for frame in await peer.frames(2)] == [FRAME, FRAME]


async def test_frames_after_the_end_fail_the_stream(site: Site, bystander: Peer) -> None:
    async with site.peer() as peer:
        await peer.start("recognize")
        await peer.start("echo", stream=2)
        await peer.entry("stream_end")
        await peer.send(FRAME)
        assert (await peer.error("unexpected_message"))["stream"] == 1
        await peer.send(FRAME, stream=2, seq=0)
        await peer.frames(1)


async def test_frames_of_a_stream_that_is_over_are_no_fault(site: Site) -> None:
    async with site.peer() as peer:
        await peer.start("echo")
        await peer.say("stop", stream=1)
        for _ in range(10):
            await peer.send(FRAME)
        await peer.start("echo", stream=2)
        await peer.send(FRAME, stream=2, seq=0)
        assert (await peer.frames(1))[0].stream == 2


async def test_beyond_its_credit_a_stream_fails(site: Site, bystander: Peer) -> None:
    async with site.peer() as peer:
        started = await peer.start("echo")
        chunk = bytes(200_000)
        # Nobody acknowledges the echo, so the worker stops reading and gives no credit.
        for _ in range(20 * started["credit_samples"] // len(chunk)):
            await peer.send(chunk)
        error = await peer.error("rate_limited")
        assert error["stream"] == 1


# text


async def test_empty_text_is_an_utterance_without_sound(site: Site) -> None:
    async with site.peer() as peer:
        await peer.start("synthesize")
        await peer.entry("text", text="")
        await peer.entry("finalize")
        await peer.entry("stream_end")
        assert (await peer.hear("stream_end")).get("samples", 0) == 0


async def test_huge_text_fails_its_stream(site: Site, bystander: Peer) -> None:
    async with site.peer() as peer:
        await peer.start("synthesize")
        await peer.entry("text", text="x" * 20_001)
        assert (await peer.error("text_too_long"))["stream"] == 1
        assert (await peer.start("echo", stream=2))["stream"] == 2


async def test_text_in_pieces_is_bounded_too(site: Site, bystander: Peer) -> None:
    async with site.peer() as peer:
        await peer.start("synthesize")
        for _ in range(30):
            await peer.entry("text", text="x" * 1_000)
        error = await peer.hear("error")
        assert error["code"] in {"text_too_long", "rate_limited"}


async def test_text_that_nobody_can_speak_ends_its_utterance(site: Site) -> None:
    async with site.peer() as peer:
        await peer.start("synthesize")
        await peer.entry("text", text="\u0000")
        await peer.entry("finalize")
        await peer.entry("text", text="fine")
        await peer.entry("finalize")
        await peer.entry("stream_end")
        first = await peer.hear("utterance_end")
        assert (first["reason"], first.get("code")) in {
            ("failed", "unsupported_text"),
            ("done", None),  # an engine that speaks anything
        }
        assert (await peer.hear("utterance_end"))["reason"] == "done"


async def test_text_to_a_recognizer_is_refused(site: Site, bystander: Peer) -> None:
    async with site.peer() as peer:
        await peer.start("recognize")
        await peer.entry("text", text="hello")
        assert (await peer.error("unexpected_message"))["stream"] == 1


async def test_a_lone_surrogate_is_malformed(site: Site) -> None:
    async with site.peer() as peer:
        await peer.start("synthesize")
        await peer.wire.send('{"type":"text","stream":1,"seq":0,"text":"\\ud800"}')
        await peer.error("malformed_message")


# resume


@pytest.mark.parametrize("token", ["", "wrong", "\u00e9", "x" * 100_000])
async def test_a_wrong_token_resumes_nothing(site: Site, bystander: Peer, token: str) -> None:
    async with site.peer() as peer:
        await peer.say("resume", stream=1, stream_id=bystander.stream_id, token=token)
        assert (await peer.error("session_expired"))["stream"] == 1
