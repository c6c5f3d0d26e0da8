from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class AudioChunk(_message.Message):
    __slots__ = ("pcm", "seq", "last", "stream", "sample", "epoch", "utterance")
    PCM_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    STREAM_FIELD_NUMBER: _ClassVar[int]
    SAMPLE_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    UTTERANCE_FIELD_NUMBER: _ClassVar[int]
    pcm: bytes
    seq: int
    last: bool
    stream: int
    sample: int
    epoch: int
    utterance: int
    def __init__(self, pcm: _Optional[bytes] = ..., seq: _Optional[int] = ..., last: _Optional[bool] = ..., stream: _Optional[int] = ..., sample: _Optional[int] = ..., epoch: _Optional[int] = ..., utterance: _Optional[int] = ...) -> None: ...
