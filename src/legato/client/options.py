"""The optional arguments of `Client`, for those who pass them on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from legato.speech import Endpointing


class SpeakOptions(TypedDict, total=False):
    """Of `Client.speak`."""

    voice: str | None
    engine: str | None
    language: str | None
    speed: float
    sample_rate: int
    channels: int
    codec: str
    streaming: bool
    pace: float | None
    stream_id: str | None
    options: Mapping[str, Any] | None


class ListenOptions(TypedDict, total=False):
    """Of `Client.listen`."""

    engine: str | None
    language: str | None
    sample_rate: int
    channels: int
    codec: str
    frame_ms: int
    endpointing: Endpointing | None
    hotwords: Sequence[str]
    stream_id: str | None
    options: Mapping[str, Any] | None


class EchoOptions(TypedDict, total=False):
    """Of `Client.echo`."""

    sample_rate: int
    channels: int
    codec: str
    frame_ms: int
    pace: float | None
    stream_id: str | None
