"""The declarations of `messages` as JSON Schema, from which docs and foreign types are made."""

from __future__ import annotations

import inspect
import re
from typing import Any, Final, get_args

import msgspec

from legato.protocol.messages import ClientMessage, ServerMessage
from legato.protocol.version import SUBPROTOCOL, VERSION

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_REFERENCE: Final = "#/$defs/{name}"
_ATTRIBUTES: Final = "\nAttributes:\n"
_ATTRIBUTE = re.compile(r"^    (\w+): (.+(?:\n      .+)*)", re.MULTILINE)


def summary(kind: type) -> str:
    """Return the docstring of `kind` without the section on its attributes."""
    return inspect.cleandoc(kind.__doc__ or "").partition(_ATTRIBUTES)[0].strip()


def attributes(kind: type) -> dict[str, str]:
    """Return what the docstrings of `kind` and its bases say of each attribute."""
    said: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        section = inspect.cleandoc(base.__doc__ or "").partition(_ATTRIBUTES)[2]
        said |= {name: " ".join(text.split()) for name, text in _ATTRIBUTE.findall(section)}
    return said


def wire_schema() -> dict[str, object]:
    """Build the JSON Schema of every text message.

    Returns:
        A schema that any message of either side satisfies; `$defs` holds each message and each
        type inside one under its Python name, `ClientMessage` and `ServerMessage` the two sides.
    """
    sides = (ClientMessage, ServerMessage)
    references, definitions = msgspec.json.schema_components(sides, ref_template=_REFERENCE)
    for kind in _kinds(sides):
        _describe(definitions[kind.__name__], kind)
    definitions["ClientMessage"], definitions["ServerMessage"] = references
    return {
        "$schema": _DIALECT,
        "$id": f"urn:{SUBPROTOCOL.replace('.', ':')}",
        "title": f"{SUBPROTOCOL}: text messages of protocol version {VERSION}",
        "anyOf": [
            {"$ref": _REFERENCE.format(name="ClientMessage")},
            {"$ref": _REFERENCE.format(name="ServerMessage")},
        ],
        "$defs": definitions,
    }


def _kinds(types: object) -> set[type[msgspec.Struct]]:
    """Return every struct that `types` name, directly or inside another."""
    found: set[type[msgspec.Struct]] = set()
    waiting = list(types) if isinstance(types, tuple) else [types]
    while waiting:
        kind = waiting.pop()
        waiting += get_args(kind)
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and kind not in found:
            found.add(kind)
            waiting += [field.type for field in msgspec.structs.fields(kind)]
    return found


def _describe(definition: dict[str, Any], kind: type[msgspec.Struct]) -> None:
    definition["description"] = summary(kind)
    said = attributes(kind)
    for name, field in definition["properties"].items():
        if name in said:
            field["description"] = said[name]
