"""Settings of a gateway."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from legato.protocol.messages import Heartbeat, Limits
from legato.protocol.version import DEFAULT_PORT


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayConfig:
    """How a gateway listens and what it allows.

    Attributes:
        host: Address to bind; 127.0.0.1 keeps it on this machine.
        port: TCP port; 0 takes a free one.
        tls_cert: PEM file with the certificate chain; with `tls_key` turns on TLS.
        tls_key: PEM file with the private key.
        allowed_origins: Web origins, besides the gateway's own, whose pages may connect. Behind a
            proxy on the same machine, name the proxy's.
        resume_window: Seconds that a stream outlives its lost connection.
        max_message_bytes: Largest WebSocket message.
        max_connections: Open connections; more are refused with 503.
        max_streams: Open streams of one connection.
        max_text_chars: Characters of one utterance.
        header_timeout: Seconds for a request's header to arrive.
        idle_timeout: Seconds without a word from a client until it is dropped.
        slow_timeout: Seconds that a client may refuse to read before it is dropped.
        max_wait: Seconds that a new stream may have to wait for an engine, as far as can be told.
            One that would wait longer is refused; one that is not streamed may wait for six times
            as long.
        worker_wait: Seconds that a stream waits when no worker that has its engine lives; then it
            fails. While one loads the engine, five times as long.
        drain_timeout: Seconds for open streams to end after a stop was asked for.
        heartbeat_idle: Seconds between a client's pings while no stream is open.
        heartbeat_active: Seconds of silence, while one is, until a client pings.
        max_voices: Voices of its own that a tenant may have; 0 lets nobody bring one.
        janitor_every: Seconds between looks for jobs whose stream is gone; one gateway of all that
            share a bus does it.
        console: Whether `/` is a page for the browser (docs/console.md).
        impairments: Whether a client may have its own connection cut, frozen or slowed, to see that
            nothing is lost. Unset: where only this machine is listened to.
        voice_aliases: Names by which clients may ask for a voice: a voice's name, `engine/voice`,
            or a name of the table in docs/voices.md, whose entries they go before.
    """

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    tls_cert: str | None = None
    tls_key: str | None = None
    allowed_origins: tuple[str, ...] = field(default=())
    resume_window: float = 30.0
    max_message_bytes: int = 262_144
    max_connections: int = 10_000
    max_streams: int = 64
    max_text_chars: int = 20_000
    header_timeout: float = 10.0
    idle_timeout: float = 90.0
    slow_timeout: float = 15.0
    max_wait: float = 10.0
    worker_wait: float = 60.0
    drain_timeout: float = 10.0
    heartbeat_idle: float = 30.0
    heartbeat_active: float = 2.0
    max_voices: int = 50
    janitor_every: float = 20.0
    console: bool = True
    impairments: bool | None = None
    voice_aliases: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        """See that the aliases can be used.

        Raises:
            ValueError: If one is empty, or names itself.
        """
        for alias, voice in self.voice_aliases.items():
            if not alias or not voice or alias == voice:
                raise ValueError(f"voice_aliases: {alias!r} cannot be {voice!r}; name a voice")

    @property
    def limits(self) -> Limits:
        """What is announced in welcome."""
        return Limits(
            resume_window=self.resume_window,
            max_message_bytes=self.max_message_bytes,
            max_streams=self.max_streams,
            max_text_chars=self.max_text_chars,
        )

    @property
    def heartbeat(self) -> Heartbeat:
        """What is announced in welcome."""
        return Heartbeat(idle=self.heartbeat_idle, active=self.heartbeat_active)
