"""The part of SSML 1.1 (W3C, 2010) that every voice can follow; the rest is refused by name.

A document is read as a whole. It can neither define entities nor name other files, so that it
means what it says and costs what it weighs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final
from xml.parsers import expat

from legato.speech.reading.instructions import say_as
from legato.speech.scripts import Script, scripts_in

MAX_DEPTH: Final = 16
MAX_ELEMENTS: Final = 2_000
MAX_BREAK: Final = 10.0
"""Seconds."""
SLOWEST: Final = 0.5
FASTEST: Final = 2.0
"""Bounds of the rate, as of a stream's speed."""

_STRENGTHS: Final = {
    "none": 0.0, "x-weak": 0.1, "weak": 0.2, "medium": 0.4, "strong": 0.7, "x-strong": 1.0,
}  # fmt: skip
_RATES: Final = {
    "x-slow": 0.5, "slow": 0.75, "medium": 1.0, "default": 1.0, "fast": 1.25, "x-fast": 1.5,
}  # fmt: skip
_TIME: Final = re.compile(r"\+?(\d{1,5}(?:\.\d{1,3})?|\.\d{1,3})(ms|s)", re.ASCII)
_PERCENT: Final = re.compile(r"([+-]?)(\d{1,4}(?:\.\d{1,3})?)(%?)", re.ASCII)
_LANGUAGE: Final = "xml:lang"
_ATTRIBUTES: Final[Mapping[str, frozenset[str]]] = {
    "speak": frozenset({"version", "xmlns", _LANGUAGE}),
    "p": frozenset({_LANGUAGE}),
    "s": frozenset({_LANGUAGE}),
    "break": frozenset({"time", "strength"}),
    "prosody": frozenset({"rate"}),
    "say-as": frozenset({"interpret-as", "format"}),
    "sub": frozenset({"alias"}),
}
"""Elements that are followed, and those of their attributes that are."""


class InvalidSsml(ValueError):
    """A document that is no SSML, or that asks for what is not supported."""


@dataclass(frozen=True, slots=True)
class Span:
    """Text of a document that is said in one manner.

    Attributes:
        text: What to say; may be empty before a pause.
        start: Where it begins among the characters of the document.
        end: Where the next begins; the last ends with the document.
        rate: Speaking rate, 1 is the voice's own.
        pause: Seconds of silence after it.
        language: BCP 47 tag, where the document gives one.
    """

    text: str
    start: int
    end: int
    rate: float = 1.0
    pause: float = 0.0
    language: str | None = None


@dataclass(slots=True)
class _Element:
    """An open element: what holds inside, and its own text where that is not said as it is."""

    name: str
    attributes: Mapping[str, str]
    rate: float
    language: str | None
    text: str = ""


def spans(document: str) -> list[Span]:
    """Return what a document says, in its order.

    Raises:
        InvalidSsml: If it is not well-formed, or has an element, attribute or value that is not
            supported; names it and its line.
    """
    return _Reader(document).read()


class _Reader:
    """Reads one document."""

    def __init__(self, document: str) -> None:
        self._document = document
        self._bytes = document.encode("utf-8", "surrogatepass")
        self._chinese = Script.HAN in scripts_in(document)
        self._open: list[_Element] = []
        self._spans: list[Span] = []
        self._text = ""
        self._start = 0
        self._elements = 0
        self._place = (0, 0)
        parser = expat.ParserCreate("utf-8")
        parser.buffer_text = True
        parser.StartElementHandler = self._begin
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.StartDoctypeDeclHandler = self._refuse_doctype
        parser.ProcessingInstructionHandler = self._refuse_instruction
        self._parser = parser

    def read(self) -> list[Span]:
        try:
            self._parser.Parse(self._bytes, True)
        except expat.ExpatError as error:
            what = expat.errors.messages[error.code]
            raise InvalidSsml(
                f"the SSML is not well-formed: {what}, line {error.lineno}"
            ) from error
        if self._spans:
            self._spans[-1] = replace(self._spans[-1], end=len(self._document))
        return self._spans

    def _refuse(self, what: str) -> InvalidSsml:
        return InvalidSsml(f"SSML: {what}, line {self._parser.CurrentLineNumber}")

    def _refuse_doctype(self, *_: object) -> None:
        raise self._refuse("a document type or entities are not allowed")

    def _refuse_instruction(self, target: str, _: str) -> None:
        raise self._refuse(f"the processing instruction {target[:40]!r} is not allowed")

    def _begin(self, name: str, attributes: dict[str, str]) -> None:
        self._check(name, attributes)
        outer = self._open[-1] if self._open else _Element("", {}, 1.0, None)
        element = _Element(name, attributes, outer.rate, attributes.get(_LANGUAGE, outer.language))
        if name in {"p", "s", "prosody"}:
            self._cut(self._position())
        if name == "prosody":
            element.rate = self._rate(attributes, outer.rate)
        self._open.append(element)

    def _check(self, name: str, attributes: Mapping[str, str]) -> None:
        self._elements += 1
        if name not in _ATTRIBUTES:
            known = ", ".join(_ATTRIBUTES)
            raise self._refuse(f"<{name[:40]}> is not supported, only {known}")
        if (name == "speak") == bool(self._open):
            raise self._refuse("<speak> must be the outermost element, and only that")
        if foreign := attributes.keys() - _ATTRIBUTES[name]:
            what = min(foreign)[:40]
            raise self._refuse(f'the attribute "{what}" of <{name}> is not supported')
        if self._open and self._open[-1].name in {"break", "say-as", "sub"}:
            raise self._refuse(f"<{self._open[-1].name}> holds no elements")
        if len(self._open) >= MAX_DEPTH or self._elements > MAX_ELEMENTS:
            raise self._refuse(f"more than {MAX_DEPTH} levels or {MAX_ELEMENTS} elements")

    def _end(self, name: str) -> None:
        element = self._open[-1]
        # Before it is closed, its manner holds for what it said.
        _ENDS[name](self, element)
        self._open.pop()

    def end_manner(self, _: _Element) -> None:
        """End what was said in the element's manner."""
        self._cut(self._position())

    def end_break(self, element: _Element) -> None:
        """Put the silence in."""
        if element.text.strip():
            raise self._refuse("<break> holds no text")
        self._cut(self._position(), pause=self._break(element.attributes))

    def end_substitute(self, element: _Element) -> None:
        """Say the alias, whatever the element holds."""
        self._text += self._needed(element, "alias")

    def end_say_as(self, element: _Element) -> None:
        """Say what the element holds as it is told to."""
        language = (element.language or "").partition("-")[0].lower()
        kind, form = self._needed(element, "interpret-as"), element.attributes.get("format", "")
        language = language or ("zh" if self._chinese else "en")
        try:
            self._text += say_as(element.text, kind, language=language, form=form)
        except ValueError as error:
            raise self._refuse(f"<say-as>: {error}") from error

    def _needed(self, element: _Element, attribute: str) -> str:
        if attribute not in element.attributes:
            raise self._refuse(f'<{element.name}> needs the attribute "{attribute}"')
        return element.attributes[attribute]

    def _characters(self, text: str) -> None:
        element = self._open[-1]
        if element.name in {"break", "say-as", "sub"}:
            element.text += text
        else:
            self._text += text

    def _break(self, attributes: Mapping[str, str]) -> float:
        if "time" not in attributes:
            strength = attributes.get("strength", "medium")
            if strength not in _STRENGTHS:
                raise self._refuse(f'strength="{strength[:40]}" is none of {", ".join(_STRENGTHS)}')
            return _STRENGTHS[strength]
        found = _TIME.fullmatch(attributes["time"].strip())
        seconds = float(found[1]) * (0.001 if found[2] == "ms" else 1) if found else -1
        if not 0 <= seconds <= MAX_BREAK:
            time = attributes["time"][:40]
            raise self._refuse(
                f'time="{time}" must be like "300ms" or "1.5s", {MAX_BREAK:g}s at most'
            )
        return seconds

    def _rate(self, attributes: Mapping[str, str], outer: float) -> float:
        text = attributes.get("rate", "default").strip()
        factor = _RATES.get(text)
        if factor is None and (found := _PERCENT.fullmatch(text)):
            sign, number, percent = found.groups()
            factor = float(number) * (0.01 if percent else 1)
            # "+10%" and "-10%" are changes; other numbers are shares of the rate outside.
            factor = 1 + factor if sign == "+" else 1 - factor if sign else factor
        if factor is None or not SLOWEST <= outer * factor <= FASTEST:
            raise self._refuse(
                f'rate="{text[:40]}" must be a name such as "slow", or a share such as "80%",'
                f" and stay within {SLOWEST:g} to {FASTEST:g}"
            )
        return outer * factor

    def _position(self) -> int:
        """Return the parser's place among the characters of the document."""
        size_bytes, chars = self._place
        now_bytes = self._parser.CurrentByteIndex
        chars += len(self._bytes[size_bytes:now_bytes].decode("utf-8", "surrogatepass"))
        self._place = (now_bytes, chars)
        return chars

    def _cut(self, end: int, *, pause: float = 0.0) -> None:
        """End a span at `end`, if there is anything in it."""
        text = " ".join(self._text.split())
        self._text = ""
        inner = self._open[-1] if self._open else _Element("", {}, 1.0, None)
        if text or pause:
            self._spans.append(Span(text, self._start, end, inner.rate, pause, inner.language))
            self._start = end


_ENDS: Final[Mapping[str, Callable[[_Reader, _Element], None]]] = {
    "speak": _Reader.end_manner,
    "p": _Reader.end_manner,
    "s": _Reader.end_manner,
    "prosody": _Reader.end_manner,
    "break": _Reader.end_break,
    "sub": _Reader.end_substitute,
    "say-as": _Reader.end_say_as,
}
