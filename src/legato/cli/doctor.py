"""`legato doctor`: what is installed, what works, and what to type about the rest."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Iterator, Mapping, Set
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from types import MappingProxyType
from typing import Final, Literal

import typer
from rich.text import Text

import legato
from legato.cli.exits import Exit, PlainConsole
from legato.cli.extras import MODULES, missing
from legato.cli.options import Json
from legato.cli.pipes import emit, show
from legato.engines.installation import add_command

State = Literal["ok", "absent", "broken"]

BASE: Final = ("websockets", "protobuf", "msgspec", "numpy", "av")
"""Packages that everything needs."""

MARKS: Final[Mapping[State, tuple[str, str]]] = MappingProxyType(
    {"ok": ("ok", "green"), "absent": ("--", "dim"), "broken": ("no", "red")}
)
"""How a state is shown, and in what style."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        name: What.
        state: `ok`, `absent` (not installed, and need not be) or `broken`.
        detail: Version, or the way to get it.
    """

    name: str
    state: State
    detail: str


def doctor(as_json: Json = False) -> None:
    """Look at this installation and say what to do about what is missing."""
    engines = list(_engines())
    usable = {name for name, finding in engines if finding.state == "ok"}
    found = (finding for _, finding in engines)
    findings = [*_basics(), *extras(usable), *_devices(), *found]
    if as_json:
        emit(json.dumps([asdict(finding) for finding in findings], ensure_ascii=False))
    else:
        _print(findings)
    if any(finding.state == "broken" for finding in findings):
        raise typer.Exit(Exit.FAILED)


def _print(findings: list[Finding]) -> None:
    show(*map(_line, findings), console=PlainConsole(soft_wrap=True))


def _line(finding: Finding) -> Text:
    mark, style = MARKS[finding.state]
    return Text.assemble(" ", (mark, style), f"  {finding.name:<22} {finding.detail}")


def _basics() -> Iterator[Finding]:
    yield Finding("legato", "ok", legato.__version__)
    supported: State = "ok" if sys.version_info >= (3, 11) else "broken"
    yield Finding("python", supported, platform.python_version())
    for package in BASE:
        try:
            yield Finding(package, "ok", version(package))
        except PackageNotFoundError:
            yield Finding(package, "broken", add_command())


def extras(usable: Set[str]) -> Iterator[Finding]:
    """Look at the extras.

    Args:
        usable: Names of the engines that can be used. Where one bears the name of an extra that is
            not installed, the system has what the extra would bring.
    """
    for extra, modules in MODULES.items():
        absent = missing(extra)
        if not absent:
            yield Finding(f"[{extra}]", "ok", "installed")
        elif extra in usable:
            detail = f"not needed: the {extra} of the system is used"
            yield Finding(f"[{extra}]", "ok", detail)
        elif len(absent) == len(modules):
            yield Finding(f"[{extra}]", "absent", add_command(extra))
        else:
            names = ", ".join(absent)
            yield Finding(f"[{extra}]", "broken", f"{names} missing: {add_command(extra)}")


def _devices() -> Iterator[Finding]:
    if missing("audio"):
        return
    from legato.client.devices import DeviceUnavailable, default_devices

    try:
        for kind, name in default_devices().items():
            yield Finding(kind, "ok" if name else "absent", name or "no device is plugged in")
    except DeviceUnavailable as error:
        yield Finding("audio devices", "absent", error.message)


def _engines() -> Iterator[tuple[str, Finding]]:
    """Look at the engines; each comes with its name."""
    from legato.engines.base import EngineKind
    from legato.engines.registry import listings

    for kind in EngineKind:
        for engine in listings(kind):
            state: State = "ok" if engine.missing is None else "absent"
            detail = engine.missing or _about(engine.info.version if engine.info else "")
            yield engine.name, Finding(f"{engine.name} ({kind})", state, detail)


def _about(version_text: str) -> str:
    return f"can be used{f' ({version_text})' if version_text else ''}"
