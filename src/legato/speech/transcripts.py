"""What a recognizer heard."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a transcript.

    Attributes:
        text: As written, with its punctuation.
        start: Seconds from the stream's first sample.
        end: Seconds from the stream's first sample.
        confidence: 0 to 1, or None where the engine gives none.
    """

    text: str
    start: float
    end: float
    confidence: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """The text of one segment of speech.

    Attributes:
        text: The words, as read; a partial may still change, a final never does.
        final: Whether the segment is over.
        start: First sample of the segment, counted from the stream's start.
        end: Sample after the last one heard; all audio before a final's `end` is done with.
        words: With times, where the engine gives them; otherwise empty, never invented.
        confidence: 0 to 1, or None where the engine gives none.
        language: BCP 47 tag, where the engine knows it.
        decoding_delay: Seconds between the arrival of the last sample heard and this text.
        utterance: Number of the utterance it belongs to.
    """

    text: str
    final: bool
    start: int = 0
    end: int = 0
    words: tuple[Word, ...] = ()
    confidence: float | None = None
    language: str | None = None
    decoding_delay: float | None = None
    utterance: int = 0
