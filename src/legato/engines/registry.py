"""Which engines there are, what they say of themselves, and how to get one.

Engines are found by entry points, `legato.synthesizers` and `legato.recognizers`; those of other
distributions count as much as ours. Only the chosen one is loaded.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol, overload, runtime_checkable

from legato.engines.base import EngineInfo, EngineKind, Recognizer, Synthesizer
from legato.errors import EngineUnavailable, UnknownEngine

GROUPS: Final = {
    EngineKind.SYNTHESIZE: "legato.synthesizers",
    EngineKind.RECOGNIZE: "legato.recognizers",
}
"""Entry point group of each kind."""

_DEFAULTS: Final = {EngineKind.SYNTHESIZE: "hibari", EngineKind.RECOGNIZE: "moonshine"}

Engine = Synthesizer | Recognizer
Options = Mapping[str, Any]


@runtime_checkable
class Checked(Protocol):
    """An engine that can tell cheaply whether it would load."""

    def check(self) -> None:
        """Look for packages and weights without loading them.

        Raises:
            EngineUnavailable: If something is missing; names the way to get it.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """An engine as the registry knows it.

    Attributes:
        name: Of its entry point.
        kind: Of its entry point's group.
        info: What it says of itself; None if its code cannot be imported.
        missing: Why it cannot be used and the way out; None if it can.
        add_command: What the user types to add it, where it says so.
    """

    name: str
    kind: EngineKind
    info: EngineInfo | None
    missing: str | None = None
    add_command: str | None = None


def listings(kind: EngineKind) -> tuple[Listing, ...]:
    """Return all engines of a kind by name, also those that cannot be used here.

    No weights are loaded, but the code of each engine is imported.
    """
    points = _entry_points(kind)  # once: it reads a file of every installed distribution
    return tuple(_listing(kind, points[name], None) for name in sorted(points))


def available(kind: EngineKind) -> tuple[str, ...]:
    """Return the names of the engines of a kind that can be used here."""
    return tuple(listing.name for listing in listings(kind) if listing.missing is None)


def describe(kind: EngineKind, name: str) -> EngineInfo:
    """Return what an engine says of itself, without loading weights.

    Raises:
        UnknownEngine: If there is none of this name.
        EngineUnavailable: If its code cannot be imported.
    """
    return _new(kind, name).info


def default(kind: EngineKind) -> str:
    """Return the engine for those who name none.

    Raises:
        EngineUnavailable: If it cannot be used here; names the line that adds it.
    """
    name = _DEFAULTS[kind]
    _check(_new(kind, name))
    return name


@overload
def create(
    kind: Literal[EngineKind.SYNTHESIZE], name: str, options: Options | None = None
) -> Synthesizer: ...
@overload
def create(
    kind: Literal[EngineKind.RECOGNIZE], name: str, options: Options | None = None
) -> Recognizer: ...
@overload
def create(kind: EngineKind, name: str, options: Options | None = None) -> Engine: ...
def create(kind: EngineKind, name: str, options: Options | None = None) -> Engine:
    """Return a new engine, not loaded yet.

    Args:
        kind: What it does.
        name: Of its entry point.
        options: Its keyword arguments.

    Raises:
        UnknownEngine: If there is none of this name; names those that can be used.
        EngineUnavailable: If something that it needs is missing, or it has no such option; names
            the way out.
    """
    engine = _new(kind, name, options)
    _check(engine)
    return engine


def _entry_points(kind: EngineKind) -> dict[str, importlib.metadata.EntryPoint]:
    return {point.name: point for point in importlib.metadata.entry_points(group=GROUPS[kind])}


def built(name: str, factory: Callable[..., Any], options: Options | None) -> Any:
    """Return what the factory of an engine makes of options.

    Raises:
        EngineUnavailable: If it has no such option.
    """
    try:
        return factory(**(options or {}))
    except TypeError as error:
        if not options:
            raise
        raise EngineUnavailable(f"{name} does not take these options: {error}") from error


def _entry_point(kind: EngineKind, name: str) -> importlib.metadata.EntryPoint:
    point = _entry_points(kind).get(name)
    if point is None:
        raise UnknownEngine(f"no engine {name!r} for {kind}; at hand: {_names(available(kind))}")
    return point


def _new(kind: EngineKind, name: str, options: Options | None = None) -> Engine:
    return _made(kind, _entry_point(kind, name), options)


def _made(
    kind: EngineKind, point: importlib.metadata.EntryPoint, options: Options | None
) -> Engine:
    try:
        factory = point.load()
    except (ImportError, AttributeError) as error:
        raise EngineUnavailable(f"the engine {point.name} cannot be imported: {error}") from error
    engine: object = built(point.name, factory, options)
    port = Synthesizer if kind is EngineKind.SYNTHESIZE else Recognizer
    if isinstance(engine, port):
        return engine
    raise EngineUnavailable(f"{point.value} is no {port.__name__} (legato.engines.base)")


def _check(engine: Engine) -> None:
    if isinstance(engine, Checked):
        engine.check()


def listing(kind: EngineKind, name: str, options: Options | None = None) -> Listing:
    """Return what there is to know of an engine with these options, without loading weights.

    Raises:
        UnknownEngine: If there is none of this name.
    """
    return _listing(kind, _entry_point(kind, name), options)


def _listing(
    kind: EngineKind, point: importlib.metadata.EntryPoint, options: Options | None
) -> Listing:
    try:
        engine = _made(kind, point, options)
    except EngineUnavailable as error:
        return Listing(name=point.name, kind=kind, info=None, missing=error.message)
    missing = None
    try:
        _check(engine)
    except EngineUnavailable as error:
        missing = error.message
    return Listing(
        name=point.name,
        kind=kind,
        info=engine.info,
        missing=missing,
        add_command=getattr(engine, "add_command", None),
    )


def _names(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"
