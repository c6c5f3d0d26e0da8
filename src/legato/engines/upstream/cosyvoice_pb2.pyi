from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Sft(_message.Message):
    __slots__ = ("spk_id", "tts_text")
    SPK_ID_FIELD_NUMBER: _ClassVar[int]
    TTS_TEXT_FIELD_NUMBER: _ClassVar[int]
    spk_id: str
    tts_text: str
    def __init__(self, spk_id: _Optional[str] = ..., tts_text: _Optional[str] = ...) -> None: ...

class ZeroShot(_message.Message):
    __slots__ = ("tts_text", "prompt_text", "prompt_audio")
    TTS_TEXT_FIELD_NUMBER: _ClassVar[int]
    PROMPT_TEXT_FIELD_NUMBER: _ClassVar[int]
    PROMPT_AUDIO_FIELD_NUMBER: _ClassVar[int]
    tts_text: str
    prompt_text: str
    prompt_audio: bytes
    def __init__(self, tts_text: _Optional[str] = ..., prompt_text: _Optional[str] = ..., prompt_audio: _Optional[bytes] = ...) -> None: ...

class CrossLingual(_message.Message):
    __slots__ = ("tts_text", "prompt_audio")
    TTS_TEXT_FIELD_NUMBER: _ClassVar[int]
    PROMPT_AUDIO_FIELD_NUMBER: _ClassVar[int]
    tts_text: str
    prompt_audio: bytes
    def __init__(self, tts_text: _Optional[str] = ..., prompt_audio: _Optional[bytes] = ...) -> None: ...

class Instruct(_message.Message):
    __slots__ = ("tts_text", "spk_id", "instruct_text")
    TTS_TEXT_FIELD_NUMBER: _ClassVar[int]
    SPK_ID_FIELD_NUMBER: _ClassVar[int]
    INSTRUCT_TEXT_FIELD_NUMBER: _ClassVar[int]
    tts_text: str
    spk_id: str
    instruct_text: str
    def __init__(self, tts_text: _Optional[str] = ..., spk_id: _Optional[str] = ..., instruct_text: _Optional[str] = ...) -> None: ...

class InferenceRequest(_message.Message):
    __slots__ = ("sft", "zero_shot", "cross_lingual", "instruct")
    SFT_FIELD_NUMBER: _ClassVar[int]
    ZERO_SHOT_FIELD_NUMBER: _ClassVar[int]
    CROSS_LINGUAL_FIELD_NUMBER: _ClassVar[int]
    INSTRUCT_FIELD_NUMBER: _ClassVar[int]
    sft: Sft
    zero_shot: ZeroShot
    cross_lingual: CrossLingual
    instruct: Instruct
    def __init__(self, sft: _Optional[_Union[Sft, _Mapping]] = ..., zero_shot: _Optional[_Union[ZeroShot, _Mapping]] = ..., cross_lingual: _Optional[_Union[CrossLingual, _Mapping]] = ..., instruct: _Optional[_Union[Instruct, _Mapping]] = ...) -> None: ...

class InferenceResponse(_message.Message):
    __slots__ = ("tts_audio",)
    TTS_AUDIO_FIELD_NUMBER: _ClassVar[int]
    tts_audio: bytes
    def __init__(self, tts_audio: _Optional[bytes] = ...) -> None: ...
