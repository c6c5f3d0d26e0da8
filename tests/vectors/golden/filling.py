"""Values for every field of a declared type, the same each time: none of them is the default."""

from __future__ import annotations

from typing import Any, Final, TypeVar
from zlib import crc32

import msgspec
from msgspec import inspect

T = TypeVar("T", bound=msgspec.Struct)

FREE: Final = {"seed": 7, "deep": {"list": [1, 2.5, None, "ü"]}}
"""What stands in an object whose fields nobody declares."""

_UNBOUNDED: Final = 2**53 - 1


def least(kind: type[T]) -> T:
    """Return one with the fields that it must have."""
    return _Filling(0).struct(kind, only_required=True)


def full(kind: type[T]) -> list[T]:
    """Return some with all fields; each word that a field may be is in one of them.

    The last one holds the largest numbers that there may be.
    """
    count = max((len(words) for words in _choices(kind)), default=1)
    made = [_Filling(turn).struct(kind) for turn in range(count)]
    return [*made, _Filling(0, largest=True).struct(kind)]


def _choices(kind: type[msgspec.Struct]) -> list[tuple[Any, ...]]:
    """Return the words of each field that may only be some."""
    types = [_one_of(field.type) for field in _fields(kind)]
    return [tuple(found.values) for found in types if isinstance(found, inspect.LiteralType)]


def _fields(kind: type[msgspec.Struct]) -> tuple[inspect.Field, ...]:
    found = inspect.type_info(kind)
    assert isinstance(found, inspect.StructType)
    return found.fields


def _one_of(kind: inspect.Type) -> inspect.Type:
    """Return what a type is if it is not null."""
    while isinstance(kind, inspect.Metadata):
        kind = kind.type
    if isinstance(kind, inspect.UnionType):
        return _one_of(next(t for t in kind.types if not isinstance(t, inspect.NoneType)))
    return kind


class _Filling:
    """Makes values from the names of fields.

    Args:
        turn: Which word is taken where there are several.
        largest: Whether numbers are as large as they may be.
    """

    def __init__(self, turn: int, *, largest: bool = False) -> None:
        self._turn = turn
        self._largest = largest

    def struct(self, kind: type[T], *, only_required: bool = False) -> T:
        return kind(
            **{
                field.name: self._value(_one_of(field.type), field.name, field.default)
                for field in _fields(kind)
                if field.required or not only_required
            }
        )

    def _value(self, kind: inspect.Type, name: str, default: object = None) -> Any:
        match kind:
            case inspect.BoolType():
                return default is not True
            case inspect.IntType():
                return self._int(kind, name)
            case inspect.FloatType():
                return 0.125 + crc32(name.encode()) % 7
            case inspect.StrType(pattern=pattern):
                return self._str(pattern, name)
            case inspect.BytesType():
                return bytes(range(1, 33))
            case inspect.LiteralType(values=values):
                return values[self._turn % len(values)]
        return self._whole(kind, name)

    def _whole(self, kind: inspect.Type, name: str) -> Any:
        """Return a value that is made of others."""
        match kind:
            case inspect.StructType(cls=cls):
                return self.struct(cls)
            case inspect.DictType(value_type=inspect.IntType() as number):
                return {"tone": self._int(number, name)}
            case inspect.DictType():
                return FREE
            case inspect.TupleType(item_types=items):
                return tuple(self._value(_one_of(t), f"{name}{i}") for i, t in enumerate(items))
            case inspect.VarTupleType(item_type=item):
                return tuple(self._two(item, name))
            case inspect.ListType(item_type=item):
                return self._two(item, name)
        raise TypeError(f"no value for {name}: {kind}")

    def _two(self, kind: inspect.Type, name: str) -> list[Any]:
        return [self._value(_one_of(kind), name), self._value(_one_of(kind), f"{name}2")]

    def _int(self, kind: inspect.IntType, name: str) -> int:
        if self._largest:
            return _UNBOUNDED if kind.le is None else int(kind.le)
        return 1 if name == "version" else 1 + crc32(name.encode()) % 5_000

    def _str(self, pattern: str | None, name: str) -> str:
        if pattern is not None:  # of a digest
            return "0a" * 32
        return "call-7.a_B" if name == "stream_id" else f"{name} ü你🎶"
