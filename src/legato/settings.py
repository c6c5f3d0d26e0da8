"""All settings in one: defaults < TOML file < environment < flags; unknown keys are refused."""

from __future__ import annotations

import dataclasses
import difflib
import json
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, get_origin, get_type_hints

from pydantic import Field, ValidationError
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from legato.bounds import BOUNDS, ENGINE_BOUNDS, RELATIONS, Bound
from legato.client.config import ClientConfig
from legato.engines.models.config import ModelsConfig
from legato.errors import LegatoError
from legato.gateway.config import GatewayConfig
from legato.telemetry.redaction import redacted
from legato.worker.config import WorkerConfig

ENV_PREFIX: Final = "LEGATO_"
ENV_DELIMITER: Final = "__"
FILE_NAME: Final = "legato.toml"

SECRETS: Final = frozenset({"key", "huggingface_key", "modelscope_key"})
"""Names of values that `legato config show` masks."""

MASK: Final = "********"

MAX_SHOWN: Final = 100
"""Characters of a wrong value that are shown."""

Origin = Literal["default", "file", "environment", "flag"]
Values = Mapping[str, Mapping[str, Any]]
"""Values by section and name."""


class BadSettings(LegatoError):
    """A setting that cannot be used (never on the wire)."""

    code = "bad_settings"
    advice = "See docs/configuration.md; `legato config show` prints what is in force."


@dataclass(frozen=True, slots=True, kw_only=True)
class LogConfig:
    """Settings of logs.

    Attributes:
        level: Lowest level shown: debug, info, warning, error.
        format: `console` for people, `json` for machines.
    """

    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["console", "json"] = "console"


@dataclass(frozen=True, slots=True, kw_only=True)
class BusConfig:
    """Settings of the bus.

    Attributes:
        url: `memory:` for one process tree; `redis://`, `rediss://` or `unix://` for a Redis 7.0
            or newer that gateways and workers share.
    """

    url: str = "memory:"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsConfig:
    """Where a process with a worker is watched; a gateway has the same on its own port.

    Attributes:
        host: Address to bind; 127.0.0.1 keeps it on this machine. Of no use without `port`.
        port: TCP port of /metrics, /healthz and /readyz; 0 takes a free one, unset there is none.
    """

    host: str = "127.0.0.1"
    port: int | None = None


class Settings(BaseSettings):
    """Everything that can be set; one section for each package."""

    model_config = SettingsConfigDict(
        env_prefix=ENV_PREFIX, env_nested_delimiter=ENV_DELIMITER, extra="forbid", frozen=True
    )

    gateway: GatewayConfig = Field(default_factory=GatewayConfig)
    worker: WorkerConfig = Field(default_factory=WorkerConfig)
    client: ClientConfig = Field(default_factory=ClientConfig)
    models: ModelsConfig = Field(default_factory=ModelsConfig)
    bus: BusConfig = Field(default_factory=BusConfig)
    log: LogConfig = Field(default_factory=LogConfig)
    metrics: MetricsConfig = Field(default_factory=MetricsConfig)


@dataclass(frozen=True, slots=True)
class Setting:
    """One value in force.

    Attributes:
        name: Dotted, such as `gateway.port`.
        value: As used; a secret is masked.
        origin: Where it comes from.
    """

    name: str
    value: object
    origin: Origin

    @property
    def plain(self) -> Any:
        """The value as JSON has it."""
        return json.loads(json.dumps(self.value, default=_jsonable))

    @property
    def shown(self) -> str:
        """The value for a person."""
        return "-" if self.value is None else json.dumps(self.plain, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Loaded:
    """What was read.

    Attributes:
        settings: To be used.
        in_force: The same, one by one, with their origins.
    """

    settings: Settings
    in_force: tuple[Setting, ...]


def sections() -> dict[str, type]:
    """Return the sections by name, each with the dataclass that declares and documents it."""
    found = {}
    for name, info in Settings.model_fields.items():
        assert isinstance(info.annotation, type)  # noqa: S101  (narrows the type)
        found[name] = info.annotation
    return found


def load(*, file: Path | None = None, flags: Values | None = None) -> Loaded:
    """Read the settings and where each came from.

    Args:
        file: TOML file; None takes `legato.toml` of the working directory, if it is there.
        flags: Values by section, as given on the command line; None values are left out.

    Raises:
        BadSettings: If a key is unknown, a value wrong or out of its bounds, or the file missing
            or no TOML.
    """
    told = _told(file, flags or {})
    for origin, values in told.items():
        _check_names(origin, values)

    merged = _merged(told)
    _check_bounds(merged, told)
    try:
        settings = Settings(**merged)
    except ValidationError as error:
        raise BadSettings(_sentence(error, told)) from error
    in_force = tuple(_origins(settings, told))
    _check_relations({setting.name: setting for setting in in_force})
    _check_twins(settings.worker, _origin_of("worker", "engines", told))
    masked = (_masked(setting) for setting in in_force)
    return Loaded(settings, tuple(masked))


def models_folder(config: ModelsConfig) -> Path:
    """Return where models are kept (XDG Base Directory Specification: a relative path is void)."""
    if config.folder:
        return Path(config.folder).expanduser()
    told = Path(os.environ.get("XDG_DATA_HOME", ""))
    data = told if told.is_absolute() else Path.home() / ".local" / "share"
    return data / "legato" / "models"


def _merged(told: Mapping[Origin, Values]) -> dict[str, Any]:
    merged: dict[str, dict[str, Any]] = {}
    for values in reversed(list(told.values())):
        for section, said in values.items():
            merged.setdefault(section, {}).update(said)
    return merged


def _told(file: Path | None, flags: Values) -> dict[Origin, Values]:
    """Return what each source says, the strongest first."""
    given = {
        section: {name: value for name, value in values.items() if value is not None}
        for section, values in flags.items()
    }
    return {"flag": given, "environment": _environment(), "file": _read(file)}


def _environment() -> Values:
    _check_variables()
    try:
        told = EnvSettingsSource(Settings)()
    except SettingsError as error:
        raise BadSettings(f"environment: {error}") from error
    for section, said in told.items():
        hints = get_type_hints(sections()[section])
        for name, value in said.items() if isinstance(said, dict) else ():
            if isinstance(value, str) and get_origin(hints.get(name)) in (tuple, Mapping):
                said[name] = _json(f"{section}.{name}", value)
    return told


def _json(name: str, text: str) -> object:
    """Read a list or a table, which pydantic leaves as text inside a section."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise BadSettings(f'environment: {name} must be JSON, such as ["a", "b"]') from error


def _read(file: Path | None) -> Values:
    path = file or Path(FILE_NAME)
    if file is None and not path.is_file():
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise BadSettings(f"settings file {path} is not there") from error
    except OSError as error:
        raise BadSettings(f"settings file {path} cannot be read: {error.strerror}") from error
    except ValueError as error:  # no UTF-8, no TOML
        raise BadSettings(f"settings file {path}: {error}") from error


def _check_names(origin: Origin, values: Values) -> None:
    known = sections()
    for section, said in values.items():
        if section not in known:
            raise BadSettings(_unknown(origin, section, known))
        if not isinstance(said, Mapping):
            raise BadSettings(f"{origin}: {section} is a section, not a value")
        names = [field.name for field in dataclasses.fields(known[section])]
        for name in said:
            if name not in names:
                dotted = (f"{section}.{one}" for one in names)
                raise BadSettings(_unknown(origin, f"{section}.{name}", dotted))


def _check_variables() -> None:
    """Look for variables of sections that do not exist, which pydantic would pass over.

    Names without the delimiter are let be: Kubernetes sets some for every service.
    """
    prefixes = tuple(f"{ENV_PREFIX}{name}{ENV_DELIMITER}".upper() for name in sections())
    for variable in os.environ:
        name = variable.upper()
        if (
            name.startswith(ENV_PREFIX)
            and ENV_DELIMITER in name.removeprefix(ENV_PREFIX)
            and not name.startswith(prefixes)
        ):
            raise BadSettings(_unknown("environment", variable, prefixes))


def _unknown(origin: Origin, name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    hint = f"; did you mean {close[0]}?" if close else "; see docs/configuration.md"
    return f"{origin}: {name} is not a setting{hint}"


def _check_bounds(merged: Mapping[str, Mapping[str, Any]], told: Mapping[Origin, Values]) -> None:
    """Check all numbers; what is none is left to pydantic, which knows the types."""
    for section, values in merged.items():
        for name, value in values.items():
            origin, dotted = _origin_of(section, name, told), f"{section}.{name}"
            if dotted in BOUNDS:
                _check_bound(origin, dotted, value, BOUNDS[dotted])
            if dotted != "worker.engines" or not isinstance(value, list):
                continue
            for place, item in enumerate(value):
                for key in ENGINE_BOUNDS.keys() & (item if isinstance(item, dict) else {}):
                    _check_bound(origin, f"{dotted}.{place}.{key}", item[key], ENGINE_BOUNDS[key])


def _check_bound(origin: Origin, name: str, value: object, bound: Bound) -> None:
    try:
        number = float(value) if isinstance(value, str) else value
    except ValueError:
        return
    if isinstance(number, int | float) and not bound.admits(number):
        raise BadSettings(f"{origin}: {name} must be {bound}, not {value}")


def _check_relations(settings: Mapping[str, Setting]) -> None:
    for relation in RELATIONS:
        one, other = settings[relation.name], settings[relation.other]
        most: Any = other.value
        value: Any = one.value
        gives_way = relation.is_said and one.origin == "default"
        if most is None or gives_way or value <= relation.times * most:
            continue
        origin = one.origin if one.origin != "default" else other.origin
        raise BadSettings(
            f"{origin}: {one.name} must be at most {relation.times * most:g}, not {value:g}, with"
            f" {other.name} at {most:g}: {relation.why}"
        )


def _check_twins(worker: WorkerConfig, origin: Origin) -> None:
    seen = set()
    for spec in worker.engines:
        if (spec.kind, spec.name) in seen:
            raise BadSettings(
                f"{origin}: worker.engines names {spec.name} ({spec.kind.value}) twice; raise its"
                " processes instead"
            )
        seen.add((spec.kind, spec.name))


def _origins(settings: Settings, told: Mapping[Origin, Values]) -> Iterator[Setting]:
    for section in sections():
        config: Any = getattr(settings, section)
        for item in dataclasses.fields(config):
            origin = _origin_of(section, item.name, told)
            yield Setting(f"{section}.{item.name}", getattr(config, item.name), origin)


def _origin_of(section: str, name: str, told: Mapping[Origin, Values]) -> Origin:
    says = (origin for origin, values in told.items() if name in values.get(section, {}))
    return next(says, "default")


def _masked(setting: Setting) -> Setting:
    if isinstance(setting.value, str):
        is_secret = setting.name.rpartition(".")[2] in SECRETS and setting.value
        return dataclasses.replace(setting, value=MASK if is_secret else redacted(setting.value))
    return setting


def _sentence(error: ValidationError, told: Mapping[Origin, Values]) -> str:
    faults = error.errors()
    # Where a word or something else may stand, the other faults are of what was not meant.
    words = {
        fault["loc"][:2]: f"must be {fault['ctx']['expected']}, not {_shown(fault['input'])}"
        for fault in faults
        if fault["type"] == "literal_error" and isinstance(fault["input"], str)
    }
    parts: dict[str, None] = {}
    for fault in faults:
        place = [str(part) for part in fault["loc"]]
        origin = _origin_of(place[0], place[1], told) if len(place) > 1 else "settings"
        if fault["loc"][:2] in words:
            parts[f"{origin}: {'.'.join(place[:2])} {words[fault['loc'][:2]]}"] = None
        else:
            parts[f"{origin}: {'.'.join(place)}: {fault['msg']}"] = None
    return "; ".join(parts)


def _shown(text: str) -> str:
    return repr(text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…")


def _jsonable(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: getattr(value, field.name)
            for field in dataclasses.fields(value)
            if getattr(value, field.name) is not None
        }
    return str(value)
