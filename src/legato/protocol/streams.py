"""The messages about one stream."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from legato.protocol.connection import Message
from legato.protocol.fields import (
    MAX_NUMBER,
    MAX_POSITION,
    NO_SEQ,
    Digest,
    EndpointingSettings,
    LastSeq,
    Number,
    Position,
    Quality,
    Seconds,
    StreamId,
    WordTimes,
    documented,
)


class StreamMessage(Message, kw_only=True):
    """A message about one stream.

    Attributes:
        stream: The stream's number on this connection; 0 or absent means the only one.
    """

    stream: Number = 0


class NumberedMessage(StreamMessage, kw_only=True):
    """An entry of a stream's ordered history, up or down.

    Attributes:
        seq: Place in the direction's history, from 0; absent in raw framing.
    """

    seq: Number | None = None


EarlyNumber = Annotated[int, msgspec.Meta(ge=0, le=MAX_NUMBER // 2)]
"""A number after which as many may follow."""

EarlyPosition = Annotated[int, msgspec.Meta(ge=0, le=MAX_POSITION // 2)]
"""A position after which as much may follow."""


class Continuation(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Where a client goes on with a stream whose history the server has lost.

    Numbers begin anew and positions go on. What a client says again begins with `sample` or, in a
    synthesis, with the text of `utterance`; what it holds already is not sent to it again.

    Attributes:
        epoch: Incarnation of the history that begins with it, 1 or more.
        token: That would have resumed the stream; needed where the server still has some of it.
        utterance: Number of the first utterance that something is said of again.
        speaking: Whether that had begun with what is not said again.
        sample: Position in up of the first sample that is said again.
        utterance_sample: Position in down at which that utterance began.
        received_upto: Samples of down that the client holds.
    """

    epoch: Annotated[int, msgspec.Meta(ge=1, le=MAX_NUMBER)]
    token: str = ""
    utterance: EarlyNumber = 0
    speaking: bool = False
    sample: EarlyPosition = 0
    utterance_sample: EarlyPosition = 0
    received_upto: EarlyPosition = 0


class StreamStart(StreamMessage, kw_only=True):
    """Announces a stream; repeated with the same parameters it returns the running one's state.

    Attributes:
        stream_id: Unique within the tenant: 1 to 64 of A-Z a-z 0-9 _ . -, first alphanumeric.
        task: `synthesize`, `recognize` or `echo`.
        codec: Of the audio, either way: `pcm_s16le`, `mulaw`, `alaw` or `opus`.
        sample_rate: Hz, 8,000 to 48,000.
        channels: 1 or 2.
        frame_ms: Milliseconds of a full frame, 10 to 200; of a packet of `opus` 10, 20, 40 or 60.
        streaming: False returns the whole utterance at once.
        framing: `protobuf`, or `raw` for bare PCM on a connection of its own.
        engine: Name, or absent for the server's choice.
        voice: Name, or absent for the engine's default.
        language: BCP 47 tag; in a recognition also `auto`, for an engine that finds it out.
        speed: Speaking rate, 0.5 to 2.0.
        endpointing: When a recognizer ends segments by itself.
        hotwords: Words to favour, for an engine that can.
        options: Engine-specific, but for `markup`, `reading`, `strip` and `lexicon`, which say how
            the text of a synthesis is read, and `sound` and `cache`, what is done to its sound,
            and `bitrate`, of Opus.
        continues: Where to go on, after `epoch_changed` or a server that knows nothing any more.
    """

    stream_id: StreamId
    task: str
    codec: str = "pcm_s16le"
    sample_rate: Annotated[int, documented(8_000, 48_000)] = 16_000
    channels: Annotated[int, documented(1, 2)] = 1
    frame_ms: Annotated[int, documented(10, 200)] = 20
    streaming: bool = True
    framing: str = "protobuf"
    engine: str | None = None
    voice: str | None = None
    language: str | None = None
    speed: Annotated[float, documented(0.5, 2)] = 1.0
    endpointing: EndpointingSettings | None = None
    hotwords: list[str] = msgspec.field(default_factory=list)
    options: dict[str, Any] = msgspec.field(default_factory=dict)
    continues: Continuation | None = None


class StreamStarted(StreamMessage, kw_only=True):
    """The stream runs with these parameters.

    Attributes:
        stream_id: As asked.
        task: As asked.
        codec: Of the audio, either way.
        sample_rate: Hz.
        channels: 1 or 2.
        frame_ms: Milliseconds of a full frame.
        streaming: As accepted.
        framing: As accepted.
        engine: The one chosen.
        voice: The one chosen, for synthesis.
        language: As asked.
        epoch: Incarnation of the stream's history.
        credit_samples: Samples that may be sent, absolute from the stream's start.
        credit_chars: Characters that may be sent, absolute.
        resumable: Whether `resume` works for it.
        received_seq: For a repeated start: last entry in the log, else -1.
        committed_seq: For a repeated start: last entry done with, else -1.
    """

    stream_id: StreamId
    task: str
    codec: str = "pcm_s16le"
    sample_rate: Number
    channels: Number = 1
    frame_ms: Number = 20
    streaming: bool = True
    framing: str = "protobuf"
    engine: str = ""
    voice: str | None = None
    language: str | None = None
    epoch: Number = 0
    credit_samples: Position = 0
    credit_chars: Position = 0
    resumable: bool = True
    received_seq: LastSeq = NO_SEQ
    committed_seq: LastSeq = NO_SEQ


class Text(NumberedMessage, kw_only=True):
    """A piece of text to speak.

    Attributes:
        text: Joined to the pieces before it as it is.
    """

    text: str


class Flush(NumberedMessage, kw_only=True):
    """Speak (or make final) what is there; the utterance goes on."""


class Finalize(NumberedMessage, kw_only=True):
    """End the utterance now.

    Attributes:
        sample: In recognition, the position after its last sample.
    """

    sample: Position | None = None


class Transcript(NumberedMessage, kw_only=True):
    """Text heard.

    Attributes:
        kind: A `partial` may change; a `final` never does.
        text: As read.
        utterance: Number of the utterance.
        start: First sample of the segment.
        end: Sample after the last one heard.
        words: With times where the engine gives them.
        confidence: 0 to 1 where the engine gives it.
        language: BCP 47 tag where known.
        decoding_delay: Seconds from the arrival of the last sample heard to this text.
    """

    kind: Literal["partial", "final"]
    text: str
    utterance: Number = 0
    start: Position = 0
    end: Position = 0
    words: list[WordTimes] = msgspec.field(default_factory=list)
    confidence: float | None = None
    language: str | None = None
    decoding_delay: float | None = None


class UtteranceEnd(NumberedMessage, kw_only=True):
    """An utterance is over.

    Attributes:
        utterance: Its number.
        reason: `done`, `cancelled`, or `failed` with `code` and `message`.
        code: Error code of a failure.
        message: Sentence of a failure.
        sample: Where the next utterance goes on.
        sent_seq: When cancelled: the last entry sent before the hole, which is no loss; -1: none.
    """

    utterance: Number
    reason: Literal["done", "cancelled", "failed"]
    code: str | None = None
    message: str | None = None
    sample: Position = 0
    sent_seq: LastSeq | None = None


class Ack(StreamMessage, kw_only=True):
    """What the sender of the ack holds, and how far its peer may go.

    Attributes:
        received_seq: Last entry in the log, inclusive; -1 for none.
        committed_seq: Last entry done with, inclusive; -1 for none.
        received_upto: Samples received, exclusive.
        committed_upto: Samples done with, exclusive.
        played_upto: From a listener: samples heard, exclusive.
        credit_samples: Absolute.
        credit_chars: Absolute.
        quality: What the listener measured.
    """

    received_seq: LastSeq = NO_SEQ
    committed_seq: LastSeq = NO_SEQ
    received_upto: Position = 0
    committed_upto: Position = 0
    played_upto: Position | None = None
    credit_samples: Position | None = None
    credit_chars: Position | None = None
    quality: Quality | None = None


class Notice(StreamMessage, kw_only=True):
    """News that needs no answer.

    Attributes:
        kind: `queued`, `recovering`, `degraded` or `restored`.
        position: Place in the queue.
        retry_after: Estimated seconds.
        message: For a person.
    """

    kind: Literal["queued", "recovering", "degraded", "restored"]
    position: Number | None = None
    retry_after: Seconds | None = None
    message: str | None = None


class SwitchDown(NumberedMessage, kw_only=True):
    """A lower rung of the bitrate ladder holds from here on.

    Where `reset` is true, an encoder begins, and so must the listener's decoder.

    Attributes:
        rung: Its name.
        sample: Position of the first frame on it.
        reset: Whether a new encoder begins there.
    """

    rung: str
    sample: Position
    reset: bool = True


class SwitchUp(NumberedMessage, kw_only=True):
    """A higher rung of the bitrate ladder holds from here on, or the first one.

    Where `reset` is true, an encoder begins, and so must the listener's decoder.

    Attributes:
        rung: Its name.
        sample: Position of the first frame on it.
        reset: Whether a new encoder begins there.
    """

    rung: str
    sample: Position
    reset: bool = True


class Cancel(NumberedMessage, kw_only=True):
    """Stop an utterance; no sample of it plays after the call.

    Attributes:
        utterance: Its number.
        played_upto: Samples that the listener heard, exclusive.
    """

    utterance: Number
    played_upto: Position | None = None


class StreamEnd(NumberedMessage, kw_only=True):
    """From the client: no more input. From the server: everything was delivered.

    Attributes:
        frames: Audio frames of the direction.
        samples: Samples of the direction.
        digest: Chain over the payloads put on the wire, 64 hex digits (rule 8).
    """

    frames: Number | None = None
    samples: Position | None = None
    digest: Digest | None = None


class Stop(StreamMessage, kw_only=True):
    """End now and delete all data of the stream."""


class Resume(StreamMessage, kw_only=True):
    """Go on with a stream on this connection.

    Attributes:
        stream_id: The stream.
        token: The last resume token given.
        epoch: The incarnation that the client knows.
        received_seq: Last entry that the client holds of down, -1 for none.
        sent_seq: Last entry that the client has sent of up, -1 for none.
    """

    stream_id: StreamId
    token: str
    epoch: Number = 0
    received_seq: LastSeq = NO_SEQ
    sent_seq: LastSeq = NO_SEQ


class Resumed(StreamMessage, kw_only=True):
    """The stream goes on; both sides resend from their peer's `received_seq` + 1.

    Attributes:
        recovered: False if history was lost.
        epoch: Incarnation from here on.
        received_seq: Last entry that the server holds of up.
        missing: Lost range [from, to) in samples, or in seq for text.
    """

    recovered: bool
    epoch: Number = 0
    received_seq: LastSeq = NO_SEQ
    missing: tuple[Position, Position] | None = None
