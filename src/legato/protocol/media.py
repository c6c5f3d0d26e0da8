"""One audio frame on the wire: protobuf `AudioChunk` (R18, audio_chunk.proto)."""

from __future__ import annotations

import msgspec
from google.protobuf.message import DecodeError, EncodeError

from legato.errors import MalformedMessage
from legato.protocol.audio_chunk_pb2 import AudioChunk as _Chunk
from legato.protocol.fields import MAX_POSITION


class AudioFrame(msgspec.Struct, gc=False):
    """A payload and its place; also an entry of the bus log.

    Attributes:
        payload: Coded audio: PCM s16le, or one Opus packet.
        seq: Place in its direction's history, from 0.
        last: Whether the utterance ends with this frame.
        stream: The stream's number on a connection; 0 in the log.
        sample: Position of the first sample.
        epoch: Incarnation of the history.
        utterance: Number of the utterance.
    """

    payload: bytes
    seq: int = 0
    last: bool = False
    stream: int = 0
    sample: int = 0
    epoch: int = 0
    utterance: int = 0


def encode_frame(frame: AudioFrame, stream: int, epoch: int) -> bytes:
    """Code `frame` as it goes over a connection where its stream has number `stream`.

    Raises:
        MalformedMessage: If a number does not fit its protobuf field, or `sample` is 2^53 or more.
    """
    if frame.sample > MAX_POSITION:
        raise MalformedMessage(f"sample {frame.sample} is not below 2^53")
    try:
        # Without what is the default anyway: this is half as fast with keyword arguments.
        chunk = _Chunk()
        chunk.pcm = frame.payload
        chunk.seq = frame.seq
        chunk.stream = stream
        chunk.sample = frame.sample
        if frame.last:
            chunk.last = True
        if epoch:
            chunk.epoch = epoch
        if frame.utterance:
            chunk.utterance = frame.utterance
        return chunk.SerializeToString()
    except (ValueError, EncodeError) as error:
        raise MalformedMessage(f"frame cannot be coded: {error}") from error


def decode_frame(data: bytes) -> AudioFrame:
    """Read a binary message.

    Raises:
        MalformedMessage: If `data` is not a protobuf `AudioChunk`, or `sample` is 2^53 or more.
    """
    try:
        chunk = _Chunk.FromString(data)
    except DecodeError as error:
        raise MalformedMessage(
            "binary message is not a protobuf AudioChunk; for bare PCM start the stream with"
            ' "framing": "raw"'
        ) from error
    sample = chunk.sample
    if sample > MAX_POSITION:
        raise MalformedMessage(f"sample {sample} is not below 2^53")
    return AudioFrame(
        chunk.pcm,
        chunk.seq,
        chunk.last,
        chunk.stream,
        sample,
        chunk.epoch,
        chunk.utterance,
    )
