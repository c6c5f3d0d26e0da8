import pytest
from hypothesis import given
from hypothesis import strategies as st

from legato.audio import AudioFormat
from legato.engines.base import EngineInfo, EngineKind
from legato.errors import Internal
from legato.speech import Endpointing, RecognitionRequest, SynthesisRequest, Transcript, Voice, Word
from legato.speech.scripts import Script
from legato.worker import frames
from legato.worker.frames import (
    Abandon,
    Command,
    Consumed,
    Degraded,
    EndInput,
    Failed,
    Feed,
    Finished,
    Grant,
    Heard,
    Listen,
    Load,
    Reached,
    Ready,
    Reply,
    Shutdown,
    Sound,
    Speak,
    Splitter,
    Unavailable,
)

FORMAT = AudioFormat(48_000, 2)
INFO = EngineInfo(
    name="x",
    kind=EngineKind.SYNTHESIZE,
    version="1",
    format=FORMAT,
    scripts=frozenset({Script.HAN, Script.LATIN}),
    languages=("zh",),
    voices=(Voice(name="v", engine="x"),),
    deterministic=True,
)
COMMANDS: list[Command] = [
    Load(EngineKind.RECOGNIZE, "x", None, ["/a"]),
    Load(EngineKind.SYNTHESIZE, "x", "m:C", [], {"models": 2, "prompts": [{"name": "a"}]}),
    Speak(1, 0, SynthesisRequest(format=FORMAT, voice="v", options={"a": [1, {"b": None}]})),
    Listen(2, 1, RecognitionRequest(format=FORMAT, endpointing=Endpointing(silence=None))),
    Feed(1, text="héllo"),
    Feed(2, pcm=b"\0\1"),
    EndInput(1),
    Grant(1, 5),
    Abandon(1),
    Shutdown(),
]
REPLIES: list[Reply] = [
    Ready(INFO),
    Unavailable("no", INFO, "trace"),
    Sound(1, b"\0\1"),
    Heard(2, Transcript(text="a", final=True, words=(Word("a", 0.0, 0.5),))),
    Reached(2, 3),
    Degraded(2, True),
    Consumed(2, 4),
    Finished(1),
    Failed(1, "unsupported_text", "m", {"characters": "é"}),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: type(c).__name__)
def test_a_command_comes_through_as_it_was(command: Command) -> None:
    (body,) = Splitter().feed(frames.encode(command))
    assert frames.decode_command(body) == command


@pytest.mark.parametrize("reply", REPLIES, ids=lambda r: type(r).__name__)
def test_a_reply_comes_through_as_it_was(reply: Reply) -> None:
    (body,) = Splitter().feed(frames.encode(reply))
    assert frames.decode_reply(body) == reply


@given(st.integers(1, 40))
def test_frames_are_found_however_the_bytes_come(step: int) -> None:
    data = b"".join(map(frames.encode, REPLIES))
    splitter = Splitter()
    parts = [data[at : at + step] for at in range(0, len(data), step)]
    bodies = [body for part in parts for body in splitter.feed(part)]
    assert [frames.decode_reply(body) for body in bodies] == REPLIES


def test_a_frame_over_the_bound_is_not_sent() -> None:
    with pytest.raises(Internal, match="Sound takes"):
        frames.encode(Sound(1, bytes(frames.MAX_FRAME_BYTES)))


def test_a_frame_over_the_bound_is_not_taken() -> None:
    with pytest.raises(Internal, match="sent a frame of"):
        list(Splitter().feed(b"\xff\xff\xff\xff"))
