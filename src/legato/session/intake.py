"""The server's account of what has arrived of up: places, utterances, totals."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from legato.audio import AudioFormat
from legato.errors import BadAudio
from legato.flow.digest import Chain
from legato.flow.places import UpPlace
from legato.protocol.media import AudioFrame
from legato.protocol.messages import NO_SEQ, Cancel, Finalize, StreamEnd, Text
from legato.session.lane import Item


class Intake:
    """Places entries by its own count: simple clients and raw framing send none.

    Args:
        format: Of the audio.
        cancel: Takes the number of the utterance that the client wants no more of.

    Attributes:
        upto: Samples.
        chars: Characters.
        utterance: Number of the utterance that is being said, or of the next one.
        speaking: Whether it has begun.
    """

    __slots__ = (
        "_cancel",
        "_chain",
        "_frames",
        "_packet_samples",
        "_sample_bytes",
        "chars",
        "speaking",
        "upto",
        "utterance",
    )

    def __init__(
        self,
        format: AudioFormat,  # noqa: A002  (the field's name everywhere)
        cancel: Callable[[int], None],
    ) -> None:
        self._sample_bytes = format.sample_bytes
        self._packet_samples = format.packet_samples
        self._cancel = cancel
        self.upto = 0
        self.chars = 0
        self.utterance = 0
        self.speaking = False
        self._frames = 0
        self._chain: Chain | None = Chain()

    def take(self, items: Sequence[Item]) -> bool:
        """Place entries, in their order; tell whether any of them is more than audio.

        Raises:
            BadAudio: If the end of the input does not tell what has arrived.
        """
        urgent = False
        for item in items:
            if type(item) is AudioFrame:
                self._place(item)
            else:
                urgent = True
                self._note(item)
        return urgent

    def place(self, seq: int) -> UpPlace:
        """Return where up stands with entry `seq`, which was taken last."""
        return UpPlace(seq, self.upto, self.chars, self.utterance, self.speaking)

    def restore(self, place: UpPlace) -> None:
        """Go on from where another server left up; how it would be digested is not known then."""
        self.upto, self.chars = place.upto, place.chars
        self.utterance, self.speaking = place.utterance, place.speaking
        if place.seq != NO_SEQ:
            self._chain = None

    def _place(self, frame: AudioFrame) -> None:
        frame.stream = 0
        frame.sample = self.upto
        frame.utterance = self.utterance
        self._frames += 1
        if self._chain is not None:
            self._chain.update(frame.payload)
        if self._sample_bytes:
            self.upto += len(frame.payload) // self._sample_bytes
        elif frame.payload:
            self.upto += self._packet_samples
        if frame.last:
            self._begin(self.utterance + 1)
        else:
            self.speaking = True

    def _note(self, item: Item) -> None:
        if type(item) is Text:
            self.chars += len(item.text)
            self.speaking = True
        elif type(item) is Finalize and self.speaking:
            self._begin(self.utterance + 1)
        elif type(item) is Cancel:
            self._note_cancel(item)
        elif type(item) is StreamEnd:
            self._check_end(item)

    def _note_cancel(self, cancel: Cancel) -> None:
        """End what has begun up to the cancelled utterance; a later one is not there to be ended.

        The worker, who gets the same number, and this end must agree on what follows.
        """
        begun = self.utterance if self.speaking else self.utterance - 1
        cancel.utterance = min(cancel.utterance, max(begun, 0))
        if cancel.utterance <= begun:
            self._cancel(cancel.utterance)
            if cancel.utterance == self.utterance:
                self._begin(self.utterance + 1)

    def _check_end(self, end: StreamEnd) -> None:
        """Check what the client tells of its direction, so that a cut is not taken for an end."""
        told: list[tuple[str, object, object]] = [("samples", end.samples, self.upto)]
        if self._chain is not None:
            told.append(("frames", end.frames, self._frames))
            told.append(("digest", end.digest, end.digest and self._chain.hexdigest()))
        for name, said, came in told:
            if said is not None and said != came:
                raise BadAudio(f"stream_end has {name} {said}, what arrived has {came}")

    def _begin(self, utterance: int) -> None:
        self.utterance = utterance
        self.speaking = False
