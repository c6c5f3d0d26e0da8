"""What a worker and its engine processes say to each other, and how it is framed.

Both ends are of the same version and on the same machine, so this may change with any release:
length-prefixed MessagePack over a Unix socket pair.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Literal

import msgspec

from legato.engines.base import EngineInfo, EngineKind
from legato.errors import Internal
from legato.speech import RecognitionRequest, SynthesisRequest, Transcript

WINDOW_BYTES: Final = 65_536
"""Input, and output, of one call that its reader has not taken yet: 2 s of 16 kHz mono PCM."""

PIECE_SECONDS: Final = 0.2
"""Longest audio in one frame, so that a cancel need not wait for more."""

MAX_FRAME_BYTES: Final = 1 << 20
PREFIX_BYTES: Final = 4


class Load(msgspec.Struct, tag="load", gc=False):
    """First word to an engine process: which engine it is.

    Attributes:
        kind: What the engine does.
        name: As registered.
        target: `module:Class` instead.
        path: The worker's `sys.path`, so that both find the same modules.
        options: Keyword arguments of the engine.
        log: Format and level of the worker's log; None where it has none.
    """

    kind: EngineKind
    name: str
    target: str | None
    path: list[str]
    options: dict[str, Any] = {}
    log: tuple[Literal["console", "json"], str] | None = None


class Speak(msgspec.Struct, tag="speak", gc=False):
    """Begin a synthesis in a free slot; the recording of its prompt was taught before."""

    call: int
    slot: int
    request: SynthesisRequest


class Listen(msgspec.Struct, tag="listen", gc=False):
    """Begin a recognition in a free slot."""

    call: int
    slot: int
    request: RecognitionRequest


class Teach(msgspec.Struct, tag="teach", gc=False):
    """A piece of a recording whose voice is to speak: `Speak` names it by its digest alone.

    Attributes:
        digest: Of the whole recording.
        pcm: What follows the pieces before.
        last: Whether it is whole with this.
    """

    digest: str
    pcm: bytes
    last: bool


class Forget(msgspec.Struct, tag="forget", gc=False):
    """Drop a recording, and all that the engine keeps of it."""

    digest: str


class Feed(msgspec.Struct, tag="feed", gc=False):
    """Input: text for a synthesis, audio in the request's format for a recognition."""

    call: int
    text: str | None = None
    pcm: bytes | None = None


class EndInput(msgspec.Struct, tag="end_input", gc=False):
    """No more input follows."""

    call: int


class Grant(msgspec.Struct, tag="grant", gc=False):
    """So many bytes of output have been taken."""

    call: int
    size_bytes: int


class Abandon(msgspec.Struct, tag="abandon", gc=False):
    """Stop; nothing more is wanted."""

    call: int


class Shutdown(msgspec.Struct, tag="shutdown", gc=False):
    """Free the engine and exit."""


class Ready(msgspec.Struct, tag="ready", gc=False):
    """The engine is loaded and warm."""

    info: EngineInfo


class Unavailable(msgspec.Struct, tag="unavailable", gc=False):
    """The engine cannot be loaded; the process exits.

    Attributes:
        message: Why, and what to do.
        info: What it would be able to do, if it could say so.
        trace: For the log, if the reason is not an ordinary one.
    """

    message: str
    info: EngineInfo | None = None
    trace: str = ""


class Sound(msgspec.Struct, tag="sound", gc=False):
    """Audio from a synthesis, in the request's format."""

    call: int
    pcm: bytes


class Heard(msgspec.Struct, tag="heard", gc=False):
    """Text from a recognition; positions count samples of the request's format from its start."""

    call: int
    transcript: Transcript


class Reached(msgspec.Struct, tag="reached", gc=False):
    """A recognition is done with all audio before `sample`, counted as in `Heard`."""

    call: int
    sample: int


class Degraded(msgspec.Struct, tag="degraded", gc=False):
    """The engine gives its streams less than it would without load, or as much as ever again."""

    call: int
    active: bool


class Consumed(msgspec.Struct, tag="consumed", gc=False):
    """The engine has taken so many bytes (or characters) of input."""

    call: int
    size_bytes: int


class Finished(msgspec.Struct, tag="finished", gc=False):
    """The call is over and its slot free: last word of every call that does not fail."""

    call: int


class Failed(msgspec.Struct, tag="failed", gc=False):
    """The engine raised; the slot is free.

    Attributes:
        call: Which call.
        code: Of `legato.errors`.
        message: For the user.
        facts: As `LegatoError.facts` returns them.
        trace: For the log; without values, which may be what was said.
    """

    call: int
    code: str
    message: str
    facts: dict[str, Any] = {}
    trace: str = ""


CallInput = Feed | EndInput | Grant | Abandon
Command = Load | Speak | Listen | Teach | Forget | CallInput | Shutdown
"""From worker to engine process."""

CallOutput = Sound | Heard | Reached | Degraded | Consumed | Finished | Failed
Reply = Ready | Unavailable | CallOutput
"""From engine process to worker."""

_encoder: Final = msgspec.msgpack.Encoder()
_commands: Final[msgspec.msgpack.Decoder[Command]] = msgspec.msgpack.Decoder(Command)
_replies: Final[msgspec.msgpack.Decoder[Reply]] = msgspec.msgpack.Decoder(Reply)

decode_command: Final = _commands.decode
decode_reply: Final = _replies.decode


def encode(message: Command | Reply) -> bytes:
    """Return `message` as a frame.

    Raises:
        Internal: If it is longer than `MAX_FRAME_BYTES`.
    """
    body = _encoder.encode(message)
    if len(body) > MAX_FRAME_BYTES:
        raise Internal(f"{type(message).__name__} takes {len(body)} bytes")
    return len(body).to_bytes(PREFIX_BYTES, "big") + body


class Splitter:
    """Finds the frames in a byte stream."""

    __slots__ = ("_buffer",)

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the body of every frame that `data` completes.

        Raises:
            Internal: If a frame is longer than `MAX_FRAME_BYTES`.
        """
        self._buffer += data
        while len(self._buffer) >= PREFIX_BYTES:
            size_bytes = int.from_bytes(self._buffer[:PREFIX_BYTES], "big")
            if size_bytes > MAX_FRAME_BYTES:
                raise Internal(f"an engine process sent a frame of {size_bytes} bytes")
            end = PREFIX_BYTES + size_bytes
            if len(self._buffer) < end:
                return
            body = bytes(self._buffer[PREFIX_BYTES:end])
            del self._buffer[:end]
            yield body
