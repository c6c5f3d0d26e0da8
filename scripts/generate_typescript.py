"""Write what the browser's client needs of the Python declarations; `--check` only compares.

`messages.ts` holds the types of the wire's messages, `declarations.ts` how what a server sends is
checked, and the codes of errors.
"""

import json
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from legato.errors import CLIENT_ONLY, ERRORS, ProtocolError
from legato.protocol.fields import MAX_MESSAGE_BYTES, MAX_NUMBER, MAX_POSITION, NO_SEQ
from legato.protocol.messages import (
    ClientMessage,
    Message,
    NumberedMessage,
    ServerMessage,
)
from legato.protocol.schema import wire_schema
from legato.protocol.version import SUBPROTOCOL, VERSION
from scripts.writing import ROOT, write

CORE = ROOT / "web" / "src" / "core"
MADE_BY = "// Made by scripts/generate_typescript.py from the Python code; change it there."
WIDTH = 100

RENAMED = {"Error": "ErrorMessage"}
"""Names that mean something else in JavaScript."""

Json = dict[str, Any]


def files() -> dict[Path, str]:
    """Every generated file and what it must hold."""
    definitions: Json = wire_schema()["$defs"]  # type: ignore[assignment]  # an object, as any schema
    return {
        CORE / "messages.ts": messages(definitions),
        CORE / "declarations.ts": declarations(definitions),
    }


# types


def messages(definitions: Json) -> str:
    """The interfaces of all messages, and the unions of them."""
    client, server = get_args(ClientMessage), get_args(ServerMessage)
    told = {kind.__name__: kind for kind in (*client, *server)}
    filled = reachable(names(server), definitions)
    made = reachable(names(client), definitions)
    objects = sorted(name for name in structs(definitions) if name not in told)
    parts = [
        MADE_BY,
        comment(
            "The messages of `legato.v1` as TypeScript sees them. What a server sends has its"
            " defaults filled in; in what only a client sends, fields with a default may be left"
            " out. Durations are seconds, positions are samples.",
            "",
        ),
    ]
    for name in (*objects, *told):
        schema = definitions[name]
        parts.append(interface(name, schema, filled=name in filled, made=name in made))
    numbered = [name for name, kind in told.items() if issubclass(kind, NumberedMessage)]
    parts += [
        union("ClientMessage", "What a client may send.", names(client)),
        union("ServerMessage", "What a server may send.", names(server)),
        union("NumberedMessage", "Entries of a stream's history beside audio.", numbered),
        f"{comment('Any message.', '')}\nexport type Message = ClientMessage | ServerMessage;",
    ]
    return "\n\n".join(parts) + "\n"


def names(kinds: Iterable[type[Message]]) -> list[str]:
    """The names of some messages."""
    return [kind.__name__ for kind in kinds]


def structs(definitions: Json) -> list[str]:
    """Every message and every object inside one."""
    return [name for name, it in definitions.items() if "properties" in it]


def reachable(roots: Iterable[str], definitions: Json) -> set[str]:
    """The names of `roots` and of all objects inside them."""
    found: set[str] = set()
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += list(references(definitions[name]))
    return found


def references(schema: object) -> Iterator[str]:
    """The names of the objects that a schema refers to."""
    if isinstance(schema, list):
        for item in schema:
            yield from references(item)
    elif isinstance(schema, Mapping):
        if "$ref" in schema:
            yield name_of(schema)
        for item in schema.values():
            yield from references(item)


def interface(name: str, schema: Json, *, filled: bool, made: bool) -> str:
    """A message or object as an interface.

    Args:
        name: Of the message.
        schema: What it holds.
        filled: Whether it comes from a server, and so with its defaults.
        made: Whether a client makes it, and so may leave a field undefined.
    """
    lines = [comment(schema["description"], ""), f"export interface {RENAMED.get(name, name)} {{"]
    for field, its in schema["properties"].items():
        if field == "type":
            lines.append(f"  type: {json.dumps(its['enum'][0])};")
            continue
        lines.append(comment(its["description"], "  "))
        kind = type_of(its)
        if its.get("default") is not None and nullable(its):
            kind += " | null"
        if is_present(field, schema, filled=filled):
            lines.append(f"  {field}: {kind};")
        else:
            lines.append(f"  {field}?: {kind}{' | undefined' if made else ''};")
    return "\n".join([*lines, "}"])


def is_present(field: str, schema: Json, *, filled: bool) -> bool:
    """Whether a field is always there."""
    return field in schema["required"] or (filled and not is_bare(schema["properties"][field]))


def is_bare(schema: Json) -> bool:
    """Whether a field that is left out has no value at all."""
    return "$ref" not in schema and schema.get("default") is None


def nullable(schema: Json) -> bool:
    """Whether a field may be null."""
    return any(one.get("type") == "null" for one in schema.get("anyOf", ()))


def type_of(schema: Json) -> str:
    """The TypeScript type of a field."""
    if "$ref" in schema:
        return name_of(schema)
    if "anyOf" in schema:
        return " | ".join(type_of(one) for one in schema["anyOf"] if one.get("type") != "null")
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    if "prefixItems" in schema:
        return f"[{', '.join(type_of(item) for item in schema['prefixItems'])}]"
    if schema["type"] == "array":
        return f"{type_of(schema['items'])}[]"
    return {
        "integer": "number",
        "number": "number",
        "string": "string",
        "boolean": "boolean",
        "object": "Record<string, unknown>",
    }[str(schema["type"])]


def name_of(schema: Mapping[str, Any]) -> str:
    """The name of what a reference refers to."""
    return str(schema["$ref"]).rpartition("/")[2]


def union(name: str, summary: str, members: Iterable[str]) -> str:
    """A union type."""
    lines = "\n".join(f"  | {RENAMED.get(member, member)}" for member in members)
    return f"{comment(summary, '')}\nexport type {name} =\n{lines};"


def comment(text: str, indent: str) -> str:
    """A JSDoc comment."""
    text = " ".join(text.split())
    if len(indent) + len(text) + 7 <= WIDTH:
        return f"{indent}/** {text} */"
    lines = textwrap.wrap(text, WIDTH - len(indent) - 3)
    return "\n".join([f"{indent}/**", *(f"{indent} * {line}" for line in lines), f"{indent} */"])


# checks


def declarations(definitions: Json) -> str:
    """How what a server sends is checked, and the codes of errors."""
    server = names(get_args(ServerMessage))
    objects = sorted(reachable(server, definitions) - set(server))
    shapes = {name: definitions[name] for name in objects}
    shapes |= {
        definitions[name]["properties"]["type"]["enum"][0]: definitions[name] for name in server
    }
    retryable = [kind.code for kind in (*ERRORS.values(), *CLIENT_ONLY) if kind.retryable]
    closing = sorted(
        (kind.close_code, kind.code)
        for kind in ERRORS.values()
        if kind.close_code is not None and kind.close_code != ProtocolError.close_code
    )
    parts = [
        MADE_BY,
        constant("SUBPROTOCOL", "Name in `Sec-WebSocket-Protocol`.", json.dumps(SUBPROTOCOL)),
        constant("VERSION", "Version of the protocol.", str(VERSION)),
        constant("MAX_MESSAGE_BYTES", "Largest message.", f"{MAX_MESSAGE_BYTES:_}"),
        constant("MAX_POSITION", "Largest position.", "Number.MAX_SAFE_INTEGER"),
        constant(
            "SHAPES: Readonly<Record<string, string>>",
            "What each message of a server holds, and each object inside; `fields.ts` reads it.",
            block(f"  {name}: `{shape(schema)}`,\n" for name, schema in shapes.items()),
        ),
        constant(
            "RETRYABLE: ReadonlySet<string>",
            "Codes of errors after which the same may succeed later.",
            f"new Set([\n{''.join(f'  {json.dumps(code)},{chr(10)}' for code in retryable)}])",
        ),
        constant(
            "CLOSE_CODES: Readonly<Record<number, string>>",
            "What a WebSocket was closed for.",
            block(f"  {number}: {json.dumps(code)},\n" for number, code in closing),
        ),
    ]
    return "\n\n".join(parts) + "\n"


def block(lines: Iterable[str]) -> str:
    """Lines in braces."""
    return "{\n" + "".join(lines) + "}"


def constant(name: str, summary: str, value: str) -> str:
    """An exported constant."""
    return f"{comment(summary, '')}\nexport const {name} = {value};"


def shape(schema: Json) -> str:
    """The fields of a message or object: name, kind, and `?` or the default if it has one."""
    fields = {name: its for name, its in schema["properties"].items() if name != "type"}
    lines = (f"\n    {name}:{kind_of(name, its, schema)}" for name, its in fields.items())
    return "".join(lines)


def kind_of(name: str, its: Json, schema: Json) -> str:
    """The kind of one field, and what it is when it is not there."""
    if name in schema["required"]:
        return plain_kind(its)
    if "$ref" in its:
        return f"{plain_kind(its)}={{}}"
    if its.get("default") is None:
        return f"{plain_kind(its)}?"
    return f"{plain_kind(its)}={json.dumps(its['default'])}"


def plain_kind(its: Json) -> str:
    """The kind of a field that is there."""
    if "$ref" in its:
        return name_of(its)
    if "anyOf" in its:
        (only,) = [one for one in its["anyOf"] if one.get("type") != "null"]
        return plain_kind(only)
    if "enum" in its:
        return "|".join(its["enum"])
    if "prefixItems" in its:
        return ",".join(map(plain_kind, its["prefixItems"]))
    return KINDS[its["type"]](its)


def real(its: Json) -> str:
    """The kind of a number that need not be whole."""
    if "exclusiveMinimum" in its:
        return "period"
    return "seconds" if "minimum" in its else "real"


INTEGERS = {
    (0, MAX_NUMBER): "number",
    (NO_SEQ, MAX_NUMBER): "last_seq",
    (0, MAX_POSITION): "position",
}
"""Kinds of integers by their bounds."""

KINDS: Mapping[str, Callable[[Json], str]] = {
    "array": lambda its: f"{plain_kind(its['items'])}[]",
    "integer": lambda its: INTEGERS[its["minimum"], its["maximum"]],
    "number": real,
    "string": lambda its: "text",
    "boolean": lambda its: "flag",
    "object": lambda its: "anything",
}
"""Kinds by the type that a schema names."""


if __name__ == "__main__":
    sys.exit(write(files(), __doc__))
