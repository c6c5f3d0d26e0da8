"""Strategies made from the declarations of the wire, so that laws hold for messages yet to come."""

from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import strategies as st
from msgspec import inspect

from legato.protocol.media import AudioFrame
from legato.protocol.messages import MAX_NUMBER, MAX_POSITION, Message

Values = st.SearchStrategy[Any]

text = st.text(max_size=40)
finite = st.floats(allow_nan=False, allow_infinity=False)
json_values: Values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | finite | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=8,
)


def messages(kind: type[Message]) -> st.SearchStrategy[Message]:
    """Every message of a class that its declaration allows."""
    return values(inspect.type_info(kind))


def values(kind: inspect.Type) -> Values:
    """Every value that a declared type allows; KeyError for a type that needs a line here."""
    return MAKERS[type(kind)](kind)


def integers(kind: inspect.IntType) -> Values:
    return st.integers(kind.ge, kind.le)


def floats(kind: inspect.FloatType) -> Values:
    least = kind.gt if kind.ge is None else kind.ge
    open_below = kind.gt is not None
    return st.floats(least, kind.le, exclude_min=open_below, allow_nan=False, allow_infinity=False)


def strings(kind: inspect.StrType) -> Values:
    return st.from_regex(kind.pattern, fullmatch=True) if kind.pattern else text


def annotated(kind: inspect.Metadata) -> Values:
    pattern = (kind.extra_json_schema or {}).get("pattern")
    return st.from_regex(pattern, fullmatch=True) if pattern else values(kind.type)


def structs(kind: inspect.StructType) -> Values:
    return st.builds(kind.cls, **{field.name: values(field.type) for field in kind.fields})


MAKERS: Mapping[type[inspect.Type], Callable[[Any], Values]] = {
    inspect.AnyType: lambda _: json_values,
    inspect.BoolType: lambda _: st.booleans(),
    inspect.DictType: lambda kind: st.dictionaries(
        values(kind.key_type), values(kind.value_type), max_size=3
    ),
    inspect.FloatType: floats,
    inspect.IntType: integers,
    inspect.ListType: lambda kind: st.lists(values(kind.item_type), max_size=3),
    inspect.LiteralType: lambda kind: st.sampled_from(kind.values),
    inspect.Metadata: annotated,
    inspect.NoneType: lambda _: st.none(),
    inspect.StrType: strings,
    inspect.StructType: structs,
    inspect.TupleType: lambda kind: st.tuples(*map(values, kind.item_types)),
    inspect.UnionType: lambda kind: st.one_of([values(one) for one in kind.types]),
}

numbers = st.integers(0, MAX_NUMBER)
frames = st.builds(
    AudioFrame,
    st.binary(max_size=2000),
    seq=numbers,
    last=st.booleans(),
    stream=numbers,
    sample=st.integers(0, MAX_POSITION),
    epoch=numbers,
    utterance=numbers,
)
