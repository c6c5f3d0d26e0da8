"""The speakers of an engine, and which of them are free."""

from __future__ import annotations

from collections.abc import Sequence
from queue import Empty, SimpleQueue

from legato.engines.cosyvoice.speaker import Speaker
from legato.errors import EngineFailed


class Stable:
    """Lends speakers.

    Args:
        speakers: All of them.
        parallel: To how many at once each is lent.
    """

    def __init__(self, speakers: Sequence[Speaker], parallel: int) -> None:
        self.speakers = tuple(speakers)
        # Bounded: nothing is put in but what was taken out.
        self._free: SimpleQueue[Speaker] = SimpleQueue()
        for _ in range(parallel):
            for speaker in speakers:
                self._free.put(speaker)

    def take(self, timeout: float) -> Speaker:
        """Take one, waiting until there is one.

        Args:
            timeout: Seconds to wait at most.

        Raises:
            EngineFailed: If none becomes free: the steps of what was cancelled do not end.
        """
        try:
            return self._free.get(timeout=timeout)
        except Empty:
            raise EngineFailed(
                f"no model of CosyVoice became free within {timeout:g} s; raise models, or"
                " worker.engine_timeout's restart will free them"
            ) from None

    def give_back(self, speaker: Speaker) -> None:
        """Let others have it."""
        self._free.put(speaker)
