"""The application before the client in a simulation: speaks, cancels, checks what comes back."""

from __future__ import annotations

from itertools import pairwise

from legato.protocol.media import AudioFrame
from legato.protocol.messages import StreamStart, UtteranceEnd
from legato.session.client_stream import ClientStream
from legato.session.lane import Item
from tests.simulation.pair import Heard, Pair
from tests.simulation.parrot import spoken

RATE_HZ = 8_000

FRAME_SAMPLES = 8_000
"""1 s, so that credit and pace matter after few frames."""


class Talker:
    """Says things on one stream and knows what must come back.

    Args:
        pair: The world.
        name: Of the stream.
        task: An `echo` takes audio only; else what is made of text and audio is made again from
            the beginning of the utterance.

    Attributes:
        stream: The stream.
        wanted: The frames that each utterance must be answered with.
        cancelled: How many entries had come when an utterance was cancelled.
    """

    def __init__(self, pair: Pair, name: str, *, task: str = "synthesize") -> None:
        start = StreamStart(stream_id=name, task=task, sample_rate=RATE_HZ)
        self.stream: ClientStream = pair.client.start(start)
        self.wanted: dict[int, list[bytes]] = {}
        self.cancelled: dict[int, int] = {}
        self._finished = False
        self._heard = pair.heard.setdefault(self.stream, Heard())
        self._frames = 0

    @property
    def latest(self) -> int:
        """The utterance that was said last."""
        return max(self.wanted, default=0)

    def say(self, said: str | int, *, ends: bool) -> None:
        """Send a text, or so many frames; ignored after `finish`.

        Args:
            said: The text, or the number of frames.
            ends: Whether the utterance ends with it.
        """
        if self._finished:
            return
        if isinstance(said, str) and self.stream.start.task == "echo":
            said = len(said)
            if not said:
                return
        if isinstance(said, str):
            self.wanted.setdefault(self.stream.send_text(said), []).extend(spoken(said))
            if ends:
                self.stream.finalize()
            return
        for left in reversed(range(said)):
            self._frames += 1
            payload = self._frames.to_bytes(2, "little") * FRAME_SAMPLES
            utterance = self.stream.send_audio(payload, last=ends and not left)
            self.wanted.setdefault(utterance, []).append(payload)

    def cancel(self, utterance: int) -> None:
        """Cancel an utterance and those before it; below 0 does nothing."""
        if utterance < 0:
            return
        self.stream.cancel(utterance)
        for number in range(min(utterance, max(self.wanted, default=-1)) + 1):
            self.cancelled.setdefault(number, len(self._heard.items))

    def finish(self) -> None:
        """Say that no more comes, if that was not said."""
        self._finished = True
        self.stream.finish()

    def check(self) -> None:
        """Check what has come so far: in order, once, right, and nothing after its cancel."""
        items = self._heard.items
        if self.stream.epoch == 0:
            assert all(before < after for before, after in pairwise(map(_seq, items)))
        assert all(before <= after for before, after in pairwise(_places(items)))
        for utterance, had in self.cancelled.items():
            assert not self._frames_of(utterance, items[had:])
        for utterance in self._utterances():
            frames = self._frames_of(utterance, items)
            assert frames == self.wanted[utterance][: len(frames)]

    def check_end(self) -> None:
        """Check that everything that was not cancelled has come, and that the end is the end."""
        self.check()
        assert self._heard.failed is None, self._heard.failed
        assert self._heard.finished is not None
        assert self._heard.finished.intact
        ends = [item.utterance for item in self._heard.items if isinstance(item, UtteranceEnd)]
        assert ends == sorted(set(ends))
        for utterance, wanted in self.wanted.items():
            if utterance not in self.cancelled:
                assert self._frames_of(utterance, self._heard.items) == wanted
                assert utterance in ends

    def _utterances(self) -> set[int]:
        return {item.utterance for item in self._heard.items if isinstance(item, AudioFrame)}

    def _frames_of(self, utterance: int, items: list[Item]) -> list[bytes]:
        return [
            item.payload
            for item in items
            if isinstance(item, AudioFrame) and item.utterance == utterance and item.payload
        ]


def _places(items: list[Item]) -> list[int]:
    """Where each item begins and ends."""
    places: list[int] = []
    for item in items:
        if isinstance(item, AudioFrame):
            places += item.sample, item.sample + len(item.payload) // 2
        elif isinstance(item, UtteranceEnd):
            places.append(item.sample)
    return places


def _seq(item: Item) -> int:
    assert item.seq is not None
    return item.seq
