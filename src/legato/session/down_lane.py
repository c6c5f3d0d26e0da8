"""The server's sending half: the down log as the listener must see it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from legato.audio import AudioFormat
from legato.flow.digest import Chain
from legato.protocol.media import AudioFrame
from legato.protocol.messages import NumberedMessage, StreamEnd, UtteranceEnd
from legato.session.lane import Item
from legato.session.outbound import Outbound

DOWN_RATE: Final = 1.5
"""Initial pace of audio to a listener, in multiples of real time (docs/protocol.md, rule 5)."""


class DownLane(Outbound):
    """Sends what a worker wrote, without the frames that were cancelled, and the totals at the end.

    Attributes:
        cancelled: Last utterance that is not wanted any more, or -1.
        end: The `stream_end` that was sent, or None.
    """

    __slots__ = ("cancelled", "end")

    def __init__(self, format: AudioFormat, *, reliable: bool) -> None:  # noqa: A002  (the field's name everywhere)
        super().__init__(
            sample_bytes=format.sample_bytes,
            sample_rate=format.sample_rate,
            rate=DOWN_RATE,
            reliable=reliable,
        )
        self.chain = Chain()
        self.cancelled = -1
        self.end: StreamEnd | None = None

    def relay(self, items: Sequence[Item]) -> None:
        """Queue entries of the down log."""
        if self.cancelled < 0:
            self.extend(items)
        else:
            self.extend([item for item in items if not self._is_cancelled(item)])

    def cancel(self, utterance: int) -> None:
        """Send no more of the utterances up to `utterance`."""
        self.cancelled = max(self.cancelled, utterance)
        self.drop(self._is_cancelled)

    def _is_cancelled(self, item: Item) -> bool:
        return type(item) is AudioFrame and item.utterance <= self.cancelled

    def _complete(self, message: NumberedMessage) -> NumberedMessage:
        if type(message) is UtteranceEnd and message.utterance <= self.cancelled:
            return msgspec.structs.replace(message, reason="cancelled", sent_seq=self.sent_seq)
        message = super()._complete(message)
        if type(message) is StreamEnd:
            self.end = message
        return message
