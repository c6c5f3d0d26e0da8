"""The last step before the ear: audio goes in as it arrives and out at the device's pace."""

from __future__ import annotations

import threading

from legato.audio import AudioChunk, AudioFormat
from legato.flow.jitter import JitterBuffer
from legato.flow.start import AdaptiveStart


class Playout:
    """A jitter buffer that gives exactly as many samples as a device asks for.

    Where there is nothing to play it gives silence, and counts an underrun if it was in the middle
    of an utterance. Filled by one thread and drained by another.

    Args:
        format: Of the chunks.
        depth: Seconds held back before playing starts, and again after an underrun; or what
            learns them from the arrivals of each utterance, and may serve the next `Playout` too.
        limit: Seconds that may be held.
    """

    def __init__(
        self,
        format: AudioFormat,  # noqa: A002  (the field's name everywhere)
        *,
        depth: float | AdaptiveStart = 0.0,
        limit: float = 60.0,
    ) -> None:
        self.format = format
        self._limit = limit
        self._start = depth if isinstance(depth, AdaptiveStart) else None
        fixed = 0.0 if isinstance(depth, AdaptiveStart) else depth
        self._buffer = JitterBuffer(format.sample_rate, fixed, limit=limit)
        self._learned = True
        self._rest = b""
        self._lock = threading.Lock()
        self._adapt()

    @property
    def depth(self) -> float:
        """Seconds held back; a new value holds for the next start, and nothing is learned then."""
        return self._buffer.depth

    @depth.setter
    def depth(self, depth: float) -> None:
        with self._lock:
            self._buffer.depth = depth
            self._start = None

    @property
    def buffered(self) -> float:
        """Seconds of audio that wait."""
        return self._buffer.buffered + self.format.seconds(self._rest_samples)

    @property
    def played_upto(self) -> int:
        """Position after the last sample given out."""
        return self._buffer.played_upto - self._rest_samples

    @property
    def underruns(self) -> int:
        """Gaps that a listener heard."""
        return self._buffer.underruns

    @property
    def stalled(self) -> float:
        """Seconds of those gaps, in all."""
        return self._buffer.stalled

    def push(self, chunk: AudioChunk, now: float) -> bool:
        """Take a chunk that arrived at `now`; False if it came too late or twice.

        Raises:
            RateLimited: If `limit` seconds wait already.
        """
        if not chunk.samples:
            return False
        with self._lock:
            taken = self._buffer.push(chunk.sample, chunk.pcm, samples=chunk.samples, now=now)
            if taken:
                self._learned = False
                self._adapt()
            return taken

    def end(self, sample: int) -> None:
        """Say that nothing more comes before position `sample`: what is there is played out."""
        with self._lock:
            if self._start is not None and not self._learned:
                self._start.learn(self._buffer.required_delay)
            self._learned = True
            self._buffer.end(sample)

    def clear(self, upto: int = 0) -> None:
        """Drop all that waits, and what still comes before `upto`: not a sample of it is heard."""
        with self._lock:
            self._rest = b""
            self._learned = True
            self._buffer.clear(upto)

    def pull(self, samples: int, now: float) -> bytes:
        """Return the next `samples` samples for a device that needs them at `now`."""
        size = samples * self.format.sample_bytes
        with self._lock:
            pcm = bytearray(self._rest)
            while len(pcm) < size:
                reached = len(pcm) // self.format.sample_bytes
                frame = self._buffer.pull(now + self.format.seconds(reached))
                if frame is None:
                    break
                pcm += frame.payload
            self._rest = bytes(pcm[size:])
        return bytes(pcm[:size]).ljust(size, b"\0")

    def _adapt(self) -> None:
        if self._start is not None:
            depth = self._start.depth(self._buffer.arrival_rate)
            self._buffer.depth = min(depth, self._limit)

    @property
    def _rest_samples(self) -> int:
        return len(self._rest) // self.format.sample_bytes
