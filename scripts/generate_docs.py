"""Write the pages of docs/ that are made from declarations in the code; `--check` only compares.

The wire's messages and their JSON Schema come from `legato.protocol`, the drawings from the state
tables, the errors from `legato.errors`, the configuration from `legato.settings`.
"""

import dataclasses
import importlib
import importlib.util
import json
import sys
import textwrap
from collections.abc import Iterable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, get_args

from pydantic_settings import BaseSettings

from legato.errors import CLIENT_ONLY, ERRORS, LegatoError
from legato.flow.jitter import TRANSITIONS, Playout, Signal
from legato.protocol.messages import (
    MAX_NUMBER,
    MAX_POSITION,
    ClientMessage,
    Message,
    NumberedMessage,
    ServerMessage,
)
from legato.protocol.schema import attributes, summary, wire_schema
from legato.session.states import LINK, STREAM, LinkSignal, LinkState, StreamSignal, StreamState
from scripts.writing import ROOT, write

DOCS = ROOT / "docs"
MADE_BY = (
    "<!-- Made by scripts/generate_docs.py from the code; change it there, then `make docs`. -->"
)
POWERS = {MAX_NUMBER: "2^32-1", MAX_POSITION: "2^53-1"}

MESSAGES_INTRO = """\
The rules that bind them are in [protocol.md](protocol.md); the same declarations as JSON Schema are
in [schema/legato.v1.json](schema/legato.v1.json). A field that is not *required* may be left out
and then has its default (– for none). Messages marked with # are entries of a stream's history and
carry `seq`."""

STATES_INTRO = """\
Drawn from the tables in the code; steps that stay in their state are left out. The jitter buffer
looks at what it holds each time the device asks for a frame."""

ERRORS_INTRO = """\
Every failure has a code, the same in the `error` message, in the Python exception and in the logs;
codes are never renamed or used again. *Close* is the WebSocket close code where the error ends the
connection (protocol errors do so at the fifth, `message_too_large` at the first); an error without
one ends its stream at most. *Retry* says whether the same request may succeed later; `retryable`
and `retry_after` in the message overrule it. All classes are in `legato.errors`."""

EXAMPLE_INTRO = """\
# Made by scripts/generate_docs.py from the code; change it there, then `make docs`.
# Every setting with its default. Copy it to legato.toml and take the # off what you change."""

CONFIGURATION_INTRO = """\
From weak to strong: the default, the TOML file, the environment, the command line.
`legato config show` prints what holds and where it comes from. Durations are seconds. The file is
`legato.toml` of the working directory, or the one given with `--config`;
[legato.example.toml](../legato.example.toml) shows all of it. Lists in variables are JSON.

`[client]` is for the command line only; in Python `legato.connect()` takes arguments
([python.md](python.md)).

`worker.engines` is a list of objects, of which the table shows the names only. `kind` is
`synthesize` or `recognize`, `name` one that `legato doctor` lists; `processes` (1) is how many
engine processes to keep, `slots` how many streams one of them serves at once (what the engine
says), `target` a `module:Class` to use instead of what is registered under the name, `options` what
the engine's page names, and `unload_after` the seconds without a stream at work after which its
processes end ([engines.md](engines.md#memory)). A worker that speaks with two processes of hibari,
and knows no other engine:

```toml
[worker]
engines = [{ kind = "synthesize", name = "hibari", processes = 2 }]
```

The same as a variable:

```sh
export LEGATO_WORKER__ENGINES='[{"kind": "synthesize", "name": "hibari", "processes": 2}]'
```"""

Json = dict[str, Any]


def pages() -> dict[Path, str]:
    """Every generated page and what it must hold."""
    made = {
        DOCS / "protocol-messages.md": messages_page(),
        DOCS / "schema" / "legato.v1.json": json.dumps(wire_schema(), indent=2) + "\n",
        DOCS / "protocol-states.md": states_page(),
        DOCS / "errors.md": errors_page(),
    }
    if importlib.util.find_spec("legato.settings") is not None:
        settings = importlib.import_module("legato.settings").Settings
        made[DOCS / "configuration.md"] = configuration_page(settings)
        made[DOCS.parent / "legato.example.toml"] = example(settings)
    return made


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table; bars and line breaks in cells are escaped."""
    lines = [list(head), *map(list, rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join(
        "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in line) + " |"
        for line in lines
    )


def code(value: object) -> str:
    """A value as JSON in code quotes."""
    return f"`{json.dumps(value, ensure_ascii=False)}`"


def messages_page() -> str:
    """The reference of every message, by who sends it."""
    schema: Json = wire_schema()
    definitions: Json = schema["$defs"]
    client, server = get_args(ClientMessage), get_args(ServerMessage)
    groups = {
        "From the client": [kind for kind in client if kind not in server],
        "From the server": [kind for kind in server if kind not in client],
        "From both": [kind for kind in client if kind in server],
    }
    told = {kind.__name__ for kinds in groups.values() for kind in kinds}
    objects = [name for name, it in definitions.items() if "properties" in it and name not in told]
    parts = [
        MADE_BY,
        "# Messages of `legato.v1`",
        MESSAGES_INTRO,
    ]
    for title, kinds in groups.items():
        parts += [f"## {title}", table(("message", "", "says"), map(message_row, kinds))]
        for kind in kinds:
            parts += [f"### {type_of(kind)}", definition(definitions[kind.__name__])]
    parts.append("## Objects inside messages")
    for name in sorted(objects):
        parts += [f"### {name}", definition(definitions[name])]
    return "\n\n".join(parts) + "\n"


def type_of(kind: type[Message]) -> str:
    """The `type` of a message."""
    return str(kind.__struct_config__.tag)


def message_row(kind: type[Message]) -> tuple[str, str, str]:
    """A line of the overview."""
    name = type_of(kind)
    return f"[`{name}`](#{name})", "#" if issubclass(kind, NumberedMessage) else "", summary(kind)


def definition(schema: Json) -> str:
    """What a message or object says and holds."""
    fields = {name: field for name, field in schema["properties"].items() if name != "type"}
    if not fields:
        return str(schema["description"])
    rows = (
        (f"`{name}`", shape(field), default(name, schema), field["description"])
        for name, field in fields.items()
    )
    return f"{schema['description']}\n\n{table(('field', 'type', 'default', 'meaning'), rows)}"


def shape(field: Json) -> str:
    """The type and bounds of a field, in words."""
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in field:
        kinds = [shape(one) for one in field["anyOf"] if one.get("type") != "null"]
        return " or ".join(kinds) + (", or null" if field.get("default") is not None else "")
    if "enum" in field:
        return " or ".join(code(value) for value in field["enum"])
    if "prefixItems" in field:
        return f"[{', '.join(str(item['type']) for item in field['prefixItems'])}]"
    if field["type"] == "array":
        return f"array of {shape(field['items'])}"
    return f"{field['type']}{bounds(field)}"


def bounds(field: Json) -> str:
    """The range of a number, in words; empty where there is none."""
    if "exclusiveMinimum" in field:
        return f", above {field['exclusiveMinimum']:g}"
    if "minimum" not in field:
        return ""
    least = f"{field['minimum']:g}"
    if "maximum" not in field:
        return f", {least} or more"
    most = field["maximum"]
    return f", {least} to {POWERS.get(most, f'{most:g}')}"


def default(name: str, schema: Json) -> str:
    """What an absent field means."""
    if name in schema["required"]:
        return "*required*"
    value = schema["properties"][name].get("default")
    return "–" if value is None or value == {} else code(value)


def states_page() -> str:
    """The state machines as Mermaid drawings."""
    parts = [MADE_BY, "# States", STATES_INTRO]
    parts += ["## A connection", summary(LinkState), drawing(LINK, LinkState, LinkSignal)]
    parts += ["## A stream", summary(StreamState), drawing(STREAM, StreamState, StreamSignal)]
    parts += ["## The jitter buffer", summary(Playout), drawing(TRANSITIONS, Playout, Signal)]
    return "\n\n".join(parts) + "\n"


def drawing(table: Mapping[Any, Enum], states: type[Enum], signals: type[Enum]) -> str:
    """A table of transitions as a Mermaid state diagram, without the steps that stay in place."""
    first, *_ = states
    arrows: dict[tuple[str, str], list[str]] = {}
    for state in states:
        for signal in signals:
            target = table.get((state, signal), state)
            if target is not state:
                names = (state.name.lower(), target.name.lower())
                arrows.setdefault(names, []).append(signal.name.lower())
    lines = [f"    {start} --> {end}: {', '.join(by)}" for (start, end), by in arrows.items()]
    head = ["```mermaid", "stateDiagram-v2", f"    [*] --> {first.name.lower()}"]
    return "\n".join([*head, *lines, "```"])


def errors_page() -> str:
    """The table of errors, by family, in the order in which codes were added."""
    families: dict[type[LegatoError], list[type[LegatoError]]] = {}
    for kind in (*ERRORS.values(), *CLIENT_ONLY):
        families.setdefault(kind.__mro__[1], []).append(kind)
    parts = [
        MADE_BY,
        "# Errors",
        ERRORS_INTRO,
    ]
    for family, kinds in families.items():
        title = "Others" if family is LegatoError else family.__name__
        parts += [f"## {title}", "" if family is LegatoError else summary(family)]
        parts.append(
            table(
                ("code", "class", "close", "retry", "what happened", "what to do"),
                map(error_row, kinds),
            )
        )
        parts += [
            f"`{kind.code}` also says: {extras}." for kind in kinds if (extras := told_by(kind))
        ]
    return "\n\n".join(filter(None, parts)) + "\n"


def error_row(kind: type[LegatoError]) -> tuple[str, ...]:
    """A line of the table of errors."""
    return (
        f"`{kind.code}`",
        f"`{kind.__name__}`" + (" (client only)" if kind in CLIENT_ONLY else ""),
        str(kind.close_code or "–"),
        "yes" if kind.retryable else "no",
        summary(kind),
        kind.advice,
    )


def told_by(kind: type[LegatoError]) -> str:
    """The facts that an error carries beside its code."""
    common = attributes(LegatoError)
    facts = {name: text for name, text in attributes(kind).items() if name not in common}
    return "; ".join(
        f"`{name}`, {text[0].lower()}{text[1:].rstrip('.')}" for name, text in facts.items()
    )


def configuration_page(settings: type[BaseSettings]) -> str:
    """Every setting, its environment variable and default, by section."""
    prefix = str(settings.model_config.get("env_prefix") or "")
    delimiter = str(settings.model_config.get("env_nested_delimiter") or "__")
    parts = [
        MADE_BY,
        "# Configuration",
        CONFIGURATION_INTRO,
    ]
    said = attributes(settings)
    plain = []
    for name, field in settings.model_fields.items():
        section = field.annotation
        if isinstance(section, type) and dataclasses.is_dataclass(section):
            variable = f"{prefix}{name}{delimiter}".upper()
            rows = section_rows(section, field.get_default(call_default_factory=True), variable)
            head = ("setting", "variable", "default", "meaning")
            parts += [f"## `[{name}]`", summary(section), table(head, rows)]
        else:
            variable = f"`{prefix}{name}`".upper()
            value = field.get_default(call_default_factory=True)
            meaning = field.description or said.get(name, "")
            plain.append((f"`{name}`", variable, shown(value), meaning))
    if plain:
        parts[3:3] = ["## At the top", table(("setting", "variable", "default", "meaning"), plain)]
    return "\n\n".join(filter(None, parts)) + "\n"


def example(settings: type[BaseSettings]) -> str:
    """Every setting as a comment of a TOML file, by section."""
    blocks = [EXAMPLE_INTRO]
    for name, field in settings.model_fields.items():
        section = field.annotation
        if not (isinstance(section, type) and dataclasses.is_dataclass(section)):
            continue
        values = field.get_default(call_default_factory=True)
        said: Mapping[str, str] = attributes(section)
        blocks.append(f"# {summary(section)}\n[{name}]")
        for item in dataclasses.fields(section):
            meaning = textwrap.fill(
                said.get(item.name, ""), 98, initial_indent="# ", subsequent_indent="# "
            )
            value = getattr(values, item.name)
            blocks.append(f"{meaning}\n# {item.name} = {toml(value)}")
    return "\n\n".join(blocks) + "\n"


def toml(value: object) -> str:
    """A default in TOML, on one line; what has none is left to be filled in."""
    if value is None:
        return "..."
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key} = {toml(said)}' for key, said in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml, value))}]"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        pairs = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        told = (f"{name} = {toml(one)}" for name, one in pairs.items() if one is not None)
        return f"{{ {', '.join(told)} }}"
    return json.dumps(value if isinstance(value, bool | int | float) else str(value))


def section_rows(section: type, values: object, variable: str) -> Iterable[tuple[str, ...]]:
    """The lines of one section's table."""
    said: Mapping[str, str] = attributes(section)
    for field in dataclasses.fields(section):
        value = getattr(values, field.name, field.default)
        name = f"`{variable}{field.name.upper()}`"
        yield f"`{field.name}`", name, shown(value), said.get(field.name, "")


def shown(value: object) -> str:
    """A default as TOML writes it; of objects in a list, their names."""
    if value is None or value is dataclasses.MISSING:
        return "–"
    if isinstance(value, list | tuple):
        return code([getattr(item, "name", item) for item in value])
    return code(value) if isinstance(value, bool | int | float | str) else f"`{value}`"


if __name__ == "__main__":
    sys.exit(write(pages(), __doc__))
