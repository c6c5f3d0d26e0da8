"""Audio that one engine call hears, and what it says of it in the stream's own positions."""

from __future__ import annotations

import asyncio
from collections import deque

from legato import speech
from legato.audio import AudioFormat
from legato.engines.base import EngineInfo
from legato.protocol.messages import StreamStart, Transcript, WordTimes
from legato.speech import Endpointing, RecognitionRequest
from legato.speech.wishes import check, wishes
from legato.worker.calls import EngineCall


class Run:
    """Audio without a break, heard by one engine call.

    Args:
        call: The engine's.
        start: Position of its first sample in the stream.
        now: When it begins, in monotonic seconds.

    Attributes:
        active_at: When audio last came or the engine last said something.
        end: Position after its last sample so far.
        gathered: Audio not handed over yet.
        reader: Writes down what the engine says.
        shown: Last partial written.
    """

    def __init__(self, call: EngineCall, start: int, now: float) -> None:
        self.active_at = now
        self.call = call
        self.start = start
        self.end = start
        self.gathered = bytearray()
        self.reader: asyncio.Task[None] | None = None
        self.shown = ""
        self._arrivals: deque[tuple[int, float]] = deque()

    def gather(self, pcm: bytes, samples: int, arrived: float) -> None:
        """Add audio that came at `arrived`."""
        self.active_at = max(self.active_at, arrived)
        self.gathered += pcm
        self.end += samples
        self._arrivals.append((self.end, arrived))

    def arrival(self, sample: int) -> float | None:
        """Return when the audio up to `sample` had come, None if that is forgotten."""
        return next((arrived for end, arrived in self._arrivals if end >= sample), None)

    def forget(self, sample: int) -> None:
        """Forget when audio before `sample` came."""
        while self._arrivals and self._arrivals[0][0] < sample:
            self._arrivals.popleft()


def message_of(
    run: Run, heard: speech.Transcript, audio: AudioFormat, utterance: int, now: float
) -> Transcript:
    """Say `heard`, whose positions count from the run's start, in those of the stream."""
    end = min(run.start + heard.end, run.end)
    offset = audio.seconds(run.start)
    arrival = run.arrival(end)
    return Transcript(
        kind="final" if heard.final else "partial",
        text=heard.text,
        utterance=utterance,
        start=min(run.start + heard.start, end),
        end=end,
        words=[
            WordTimes(
                text=word.text,
                start=round(word.start + offset, 3),
                end=round(word.end + offset, 3),
                confidence=word.confidence,
            )
            for word in heard.words
        ],
        confidence=heard.confidence,
        language=heard.language,
        decoding_delay=None if arrival is None else max(0.0, now - arrival),
    )


def request_for(start: StreamStart, audio: AudioFormat) -> RecognitionRequest:
    """Return what to ask of an engine for a stream.

    Raises:
        UnsupportedOption: If an option has a value that none takes.
    """
    endpointing = start.endpointing
    asked = wishes(start.language, start.hotwords, start.options)
    speakers = {"speakers": True} if asked.speakers else {}
    return RecognitionRequest(
        format=audio,
        language=asked.language,
        endpointing=Endpointing()
        if endpointing is None
        else Endpointing(silence=endpointing.silence, threshold=endpointing.threshold),
        hotwords=asked.hotwords,
        punctuation=asked.punctuation,
        inverse_normalization=asked.inverse_normalization,
        options={**asked.options, **speakers},
    )


def check_abilities(start: StreamStart, info: EngineInfo) -> None:
    """Refuse a stream of which an engine cannot do something, before its audio is heard.

    Raises:
        UnsupportedOption: Names what the engine does not have.
    """
    asked = wishes(start.language, start.hotwords, start.options)
    check(asked, engine=info.name, abilities=info.abilities, able={})
