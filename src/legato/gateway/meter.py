"""How much audio a stream has carried: for the metrics, and to trim its logs in time."""

from __future__ import annotations

from typing import Final

from legato.audio import AudioFormat
from legato.bus.base import Direction
from legato.telemetry.metrics import AUDIO_SECONDS

_UP = AUDIO_SECONDS.labels(direction=Direction.UP.value)
_DOWN = AUDIO_SECONDS.labels(direction=Direction.DOWN.value)

HEAVY_SECONDS: Final = 4.5
"""Audio of both directions between two counts; a call at its own pace stays below."""


class Meter:
    """Counts the samples of one stream, both directions since its start.

    Args:
        format: Of the audio.
    """

    __slots__ = ("_counted", "_heavy_samples", "_heavy_upto", "_rate_hz")

    def __init__(self, format: AudioFormat) -> None:  # noqa: A002  (the field's name everywhere)
        self._rate_hz = format.sample_rate
        self._heavy_samples = format.samples(HEAVY_SECONDS)
        self.skip(0, 0)

    def skip(self, up: int, down: int) -> None:
        """Note what was counted elsewhere."""
        self._counted = (up, down)
        self._heavy_upto = up + down + self._heavy_samples

    def count(self, up: int, down: int) -> None:
        """Add to the metrics what was carried since the last time."""
        _UP.inc((up - self._counted[0]) / self._rate_hz)
        _DOWN.inc((down - self._counted[1]) / self._rate_hz)
        self.skip(up, down)

    def is_heavy(self, up: int, down: int) -> bool:
        """Whether much was carried since the last count."""
        return up + down > self._heavy_upto
