"""How much a memory bus may hold."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Limits of a memory bus; what would go past one is refused with `Overloaded`.

    Sizes are estimates of what is kept in memory: payloads and a fixed cost for each object.

    Attributes:
        log_bytes: From here on `LogWriter.room` waits, in each direction of a stream; at twice
            this an append is refused. The default holds 87 s of 16 kHz mono PCM in 20 ms frames,
            20 s of 48 kHz stereo.
        logs_bytes: All logs together; from here on no stream is created. Streams that exist go on.
        streams: Live streams, and jobs.
        tombstones: Streams deleted, and jobs finished, in the last 300 s.
        registry_bytes: All records together.
        blobs_bytes: All blobs together.
    """

    log_bytes: int = 4 << 20
    logs_bytes: int = 1 << 30
    streams: int = 10_000
    tombstones: int = 100_000
    registry_bytes: int = 64 << 20
    blobs_bytes: int = 256 << 20
