"""Legato: real-time speech streaming that does not break."""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` is slow to import, and a program must first see to its signals

if TYPE_CHECKING:
    from legato.audio import AudioChunk, AudioFormat
    from legato.client.catalog import Engine
    from legato.client.client import Client, connect
    from legato.client.config import ClientConfig
    from legato.client.conversation import Conversation, Utterance
    from legato.client.listening import Echo, Listening
    from legato.client.speech import Speech
    from legato.client.synchronous import SyncClient, connect_sync
    from legato.errors import ConnectionLost, LegatoError
    from legato.speech import Endpointing, Transcript, Voice, Word

__version__ = "0.1.0"

_HOMES = {
    "AudioChunk": "legato.audio",
    "AudioFormat": "legato.audio",
    "Client": "legato.client.client",
    "ClientConfig": "legato.client.config",
    "ConnectionLost": "legato.errors",
    "Conversation": "legato.client.conversation",
    "Echo": "legato.client.listening",
    "Endpointing": "legato.speech",
    "Engine": "legato.client.catalog",
    "LegatoError": "legato.errors",
    "Listening": "legato.client.listening",
    "Speech": "legato.client.speech",
    "SyncClient": "legato.client.synchronous",
    "Transcript": "legato.speech",
    "Utterance": "legato.client.conversation",
    "Voice": "legato.speech",
    "Word": "legato.speech",
    "connect": "legato.client.client",
    "connect_sync": "legato.client.synchronous",
}
"""Where each public name lives; loaded on first use, so that an engine process stays small."""

__all__ = [
    "AudioChunk",
    "AudioFormat",
    "Client",
    "ClientConfig",
    "ConnectionLost",
    "Conversation",
    "Echo",
    "Endpointing",
    "Engine",
    "LegatoError",
    "Listening",
    "Speech",
    "SyncClient",
    "Transcript",
    "Utterance",
    "Voice",
    "Word",
    "connect",
    "connect_sync",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
