"""From the text of an utterance to the lines that engines are given."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final

from legato.engines.base import EngineInfo
from legato.engines.markup import spoken
from legato.errors import MalformedMessage, UnsupportedText
from legato.flow.sentences import Segment, Segmenter
from legato.protocol.messages import StreamStart
from legato.speech.lexicon import Lexicon
from legato.speech.reading import language_of, read_out
from legato.speech.scripts import is_speakable, scripts_in
from legato.speech.ssml import InvalidSsml, Span, spans

MAX_LEXICON: Final = 200
"""Entries of the lexicon of one stream; the server's own may be longer."""

_LEFT_OVER: Final = re.compile(r"\*{2,}|_{2,}|~~|`+")
"""Marks that began in another segment than they end in."""


class Markup(StrEnum):
    """What a stream's text is written in."""

    TEXT = "text"
    SSML = "ssml"


class Reading(StrEnum):
    """For which engines numbers, dates and signs are written out."""

    AUTO = "auto"
    """For those that ask for it (`EngineInfo.written_out`)."""
    ALWAYS = "always"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class TextOptions:
    """What `stream_start.options` says of the text; the other options are the engine's.

    Attributes:
        markup: What the text is written in.
        reading: For which engines it is written out.
        strip: Whether Markdown and emoji are left out before an engine sees the text.
        lexicon: What is said for what is written; None for nothing.
    """

    markup: Markup = Markup.TEXT
    reading: Reading = Reading.AUTO
    strip: bool = False
    lexicon: Lexicon | None = None


KEYS: Final = frozenset({"markup", "reading", "strip", "lexicon"})
"""Keys of `options` that never reach an engine."""


@dataclass(frozen=True, slots=True)
class Line:
    """What an engine says in one go.

    Attributes:
        text: What to say.
        start: Position of its first character in the utterance's text, as the client wrote it.
        end: Position behind its last; no two lines of an utterance have the same.
        language: BCP 47 tag to read it in, "" where it is not known.
        rate: Speaking rate, a factor on the stream's.
        pause: Seconds of silence after it.
        asked: BCP 47 tag that was asked for, of the stream or within its SSML; "" if none.
    """

    text: str
    start: int
    end: int
    language: str = ""
    rate: float = 1.0
    pause: float = 0.0
    asked: str = ""

    @property
    def speakable(self) -> bool:
        """Whether there is anything to say."""
        return is_speakable(self.text)


class Script:
    """Cuts one utterance into lines: as the text comes, or, where it is SSML, at its end.

    Which lines come of a text does not depend on how it was handed over.

    Args:
        options: Of the stream.
        language: BCP 47 tag that the client asked for.
    """

    def __init__(self, options: TextOptions, language: str | None) -> None:
        self._options = options
        self._language = language
        self._heard = ""
        self._segmenter = Segmenter()
        self._document: list[str] = []

    @property
    def whole(self) -> bool:
        """Whether nothing is said before the end of the utterance."""
        return self._options.markup is Markup.SSML

    def feed(self, text: str) -> list[Line]:
        """Take in text and return the lines that it completes."""
        if self.whole:
            self._document.append(text)
            return []
        return [self._line(segment) for segment in self._segmenter.feed(text)]

    def flush(self) -> list[Line]:
        """Return the line that is left, complete or not; nothing of an SSML document."""
        return [self._line(segment) for segment in self._segmenter.flush()]

    def finish(self) -> Iterator[Line]:
        """Yield what is left at the end of the utterance.

        Raises:
            UnsupportedText: If it is SSML and cannot be followed.
        """
        if not self.whole:
            yield from self.flush()
            return
        document = "".join(self._document)
        try:
            said = spans(document) if document.strip() else []
        except InvalidSsml as error:
            raise UnsupportedText(str(error)) from error
        for span in said:
            yield from self._lines(span)

    def _lines(self, span: Span) -> list[Line]:
        """Cut a span as plain text; the lines share out its place in the document."""
        segmenter = Segmenter()
        texts = [one.text for one in segmenter.feed(span.text) + segmenter.flush()] or [""]
        size, lines = span.end - span.start, []
        for number, text in enumerate(texts):
            at, end = (span.start + size * n // len(texts) for n in (number, number + 1))
            pause = span.pause if number == len(texts) - 1 else 0.0
            lines.append(self._said(text, at, end, span=span, pause=pause))
        return lines

    def _said(self, text: str, at: int, end: int, *, span: Span, pause: float) -> Line:
        line = self._line(Segment(text, at, end), language=span.language)
        return Line(line.text, at, end, line.language, span.rate, pause, line.asked)

    def _line(self, segment: Segment, *, language: str | None = None) -> Line:
        text = segment.text
        if self._options.strip:
            text = _LEFT_OVER.sub("", spoken(text)).strip()
        if self._options.lexicon is not None:
            text = self._options.lexicon.apply(text)
        asked = language or self._language or ""
        tag = language_of(text, asked or None)
        if not tag and not scripts_in(text):
            tag = self._heard
        self._heard = tag or self._heard
        return Line(text, segment.start, segment.end, tag, asked=asked)


def written_out(text: str, line: Line, info: EngineInfo | None, reading: Reading) -> str:
    """Return what an engine is given of a line.

    Args:
        text: The part of the line that the engine says.
        line: The line.
        info: Of the engine.
        reading: For which engines text is written out.
    """
    if reading is Reading.NEVER or info is None:
        return text
    if reading is Reading.AUTO and not info.written_out:
        return text
    tag = line.language if text == line.text else language_of(text, line.language)
    tag = tag or next(iter(info.languages), "")
    asked = reading is Reading.ALWAYS or tag.partition("-")[0].lower() in info.written_out
    return read_out(text, tag) if asked else text


def text_options(start: StreamStart, lexicon: Mapping[str, str]) -> TextOptions:
    """Return what a stream's options say of its text.

    Args:
        start: Of the stream.
        lexicon: The server's own, which the stream's adds to and overrides.

    Raises:
        MalformedMessage: If an option has a value that it cannot have; says which it can.
    """
    told = start.options
    own = told.get("lexicon", {})
    if not isinstance(own, dict) or len(own) > MAX_LEXICON:
        raise MalformedMessage(
            f"options.lexicon must be an object of at most {MAX_LEXICON} entries, what is"
            " written to what is said"
        )
    strip = told.get("strip", False)
    if not isinstance(strip, bool):
        raise MalformedMessage("options.strip must be true or false")
    try:
        words = _lexicon(tuple((dict(lexicon) | own).items()))
        # Unhashable where a value is an array or object.
    except (TypeError, ValueError) as error:
        raise MalformedMessage(f"options.lexicon: {error}") from error
    return TextOptions(
        markup=Markup(_choice(told, "markup", Markup)),
        reading=Reading(_choice(told, "reading", Reading)),
        strip=strip,
        lexicon=words,
    )


@lru_cache(maxsize=64)
def _lexicon(entries: tuple[tuple[str, str], ...]) -> Lexicon | None:
    return Lexicon(dict(entries)) if entries else None


def _choice(told: Mapping[str, object], key: str, choices: type[StrEnum]) -> str:
    values = [choice.value for choice in choices]
    value = told.get(key, values[0])
    if value not in values:
        raise MalformedMessage(f"options.{key} must be one of {', '.join(values)}")
    return str(value)
