"""`legato doctor`: what is installed, what works, and what to type about the rest."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal

import typer
from rich.text import Text

import legato
from legato.cli.exits import Exit, PlainConsole
from legato.cli.extras import MODULES, missing
from legato.cli.options import ConfigFile, Json
from legato.cli.pipes import emit, show
from legato.engines.installation import add_command

if TYPE_CHECKING:
    from legato.engines.registry import Listing
    from legato.worker.config import EngineSpec

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


def doctor(as_json: Json = False, config: ConfigFile = None) -> None:
    """Look at this installation and say what to do about what is missing.

    Engines are looked at with their options of the settings, as a worker has them.
    """
    setup = read_setup(config)
    looked_at = list(engines(setup))
    usable = {name for name, finding in looked_at if finding.state == "ok"}
    found = (finding for _, finding in looked_at)
    findings = [*_basics(), *setup.faults, *extras(usable), *_devices(), *found]
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What the settings say of engines.

    Attributes:
        specs: Those that a worker would offer.
        said: Whether somebody chose them: one that cannot be used is at fault then.
        faults: What is wrong with the settings themselves.
    """

    specs: Sequence[EngineSpec] = ()
    said: bool = False
    faults: Sequence[Finding] = ()


def read_setup(config: Path | None) -> Setup:
    """Read the settings; what is wrong with them is a finding like any other."""
    from legato.settings import BadSettings, load  # slow to import

    try:
        loaded = load(file=config)
    except BadSettings as error:
        return Setup(faults=(Finding("settings", "broken", error.message),))
    origins = {setting.name: setting.origin for setting in loaded.in_force}
    said = origins["worker.engines"] != "default"
    return Setup(specs=loaded.settings.worker.engines, said=said)


def engines(setup: Setup) -> Iterator[tuple[str, Finding]]:
    """Look at all engines, those of the settings with their options; each comes with its name."""
    from legato.engines.base import EngineKind
    from legato.engines.registry import listings

    chosen = {(spec.kind, spec.name): spec for spec in setup.specs}
    for kind in EngineKind:
        for listing in listings(kind):
            spec = chosen.pop((kind, listing.name), None)
            yield listing.name, _engine(listing) if spec is None else _chosen(spec, said=setup.said)
    for spec in chosen.values():
        yield spec.name, _chosen(spec, said=setup.said)


def _chosen(spec: EngineSpec, *, said: bool) -> Finding:
    """Look at an engine of the settings as a worker would make it, without loading it."""
    from legato.engines.registry import listing
    from legato.errors import LegatoError
    from legato.worker.loading import make_engine

    wanting: State = "broken" if said else "absent"
    try:
        if spec.target is None:
            return _engine(listing(spec.kind, spec.name, spec.options), wanting)
        made = make_engine(spec.kind, spec.name, spec.target, spec.options)
    except LegatoError as error:
        return Finding(f"{spec.name} ({spec.kind})", wanting, error.message)
    return Finding(f"{spec.name} ({spec.kind})", "ok", _about(made.info.version))


def _engine(listing: Listing, wanting: State = "absent") -> Finding:
    state: State = "ok" if listing.missing is None else wanting
    detail = listing.missing or _about(listing.info.version if listing.info else "")
    return Finding(f"{listing.name} ({listing.kind})", state, detail)


def _about(version_text: str) -> str:
    return f"can be used{f' ({version_text})' if version_text else ''}"
