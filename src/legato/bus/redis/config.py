"""How a Redis bus is reached and how long it is waited for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisConfig:
    """Settings of a Redis bus; all times in seconds.

    Attributes:
        url: `redis://`, `rediss://` (TLS) or `unix://`, with user, password and database if need
            be. Any node of a Cluster will do.
        prefix: Begins every key, so that several systems can share a server.
        log_bytes: From here on `LogWriter.room` waits, in each direction of a stream; at twice
            this an append is refused. The default holds 120 s of 16 kHz mono PCM.
        window: Longest that an append waits for others to share its round trip; reached at
            `outbox.FULL_RATE` appends a second, shorter below.
        attempt: After this long without a reply the connection counts as dead. What had been sent
            is then unknown, and sent again: every script can be repeated.
        patience: After this long without an answer a call ends with `BusUnavailable`.
        look_every: A log that no push came for is looked at after this long, and then ever more
            rarely, up to `readers.RAREST_LOOK`: a push can be lost with its sender.
    """

    url: str = "redis://127.0.0.1:6379/0"
    prefix: str = "legato"
    log_bytes: int = 4 << 20
    window: float = 0.005
    attempt: float = 1.0
    patience: float = 5.0
    look_every: float = 1.0
