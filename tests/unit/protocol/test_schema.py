import json
from typing import Any, get_args

import msgspec
import pytest

from legato.protocol.messages import ClientMessage, Message, ServerMessage, StreamStart, SwitchUp
from legato.protocol.schema import attributes, summary, wire_schema


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    return dict(wire_schema())


def references(node: object) -> set[str]:
    if isinstance(node, dict):
        own = {node["$ref"]} if isinstance(node.get("$ref"), str) else set()
        return own.union(*map(references, node.values()))
    return set().union(*map(references, node)) if isinstance(node, list) else set()


def test_every_message_is_defined_under_its_type(schema: dict[str, Any]) -> None:
    for kind in {*get_args(ClientMessage), *get_args(ServerMessage)}:
        properties = schema["$defs"][kind.__name__]["properties"]
        assert properties["type"]["enum"] == [kind.__struct_config__.tag]


def test_every_reference_leads_somewhere(schema: dict[str, Any]) -> None:
    assert references(schema) == {f"#/$defs/{name}" for name in schema["$defs"]}, (
        "a definition is missing, or is used by none"
    )


def test_every_field_and_object_is_described(schema: dict[str, Any]) -> None:
    undescribed = [
        f"{name}.{field}"
        for name, definition in schema["$defs"].items()
        for field, entry in definition.get("properties", {}).items()
        if field != "type" and not entry.get("description")
    ]
    assert undescribed == []
    assert all(d["description"] for d in schema["$defs"].values() if "properties" in d)


def test_no_docstring_describes_a_field_that_is_not_there() -> None:
    for kind in {*get_args(ClientMessage), *get_args(ServerMessage)}:
        names = {field.name for field in msgspec.structs.fields(kind)}
        assert set(attributes(kind)) <= names


def test_bounds_and_patterns_are_in_it(schema: dict[str, Any]) -> None:
    start = schema["$defs"]["StreamStart"]["properties"]

    assert start["stream"]["maximum"] == 2**32 - 1
    assert start["stream_id"]["pattern"].startswith("^(?!")
    assert schema["$defs"]["Text"]["required"] == ["type", "text"]


def test_it_is_json_and_the_same_every_time(schema: dict[str, Any]) -> None:
    assert json.loads(json.dumps(schema)) == json.loads(json.dumps(wire_schema()))


def test_what_a_subclass_says_replaces_what_its_base_says() -> None:
    class Base:
        """Has things.

        Attributes:
            one: The first,
                on two lines.
            two: The second.
        """

    class Child(Base):
        """Has more.

        And says so.

        Attributes:
            two: Another.
        """

    assert summary(Child) == "Has more.\n\nAnd says so."
    assert attributes(Child) == {"one": "The first, on two lines.", "two": "Another."}


def test_inherited_fields_are_described() -> None:
    assert set(attributes(SwitchUp)) == {"stream", "seq", "rung", "sample", "reset"}
    assert summary(StreamStart).startswith("Announces a stream")
    assert issubclass(StreamStart, Message)


def test_a_class_without_docstring_has_nothing_to_say() -> None:
    class Silent: ...

    assert (summary(Silent), attributes(Silent)) == ("", {})
