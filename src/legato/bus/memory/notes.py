"""The notes of one stream of a memory bus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from legato.bus.base import Record
from legato.bus.logs import check_note, check_notes
from legato.bus.memory.log import ITEM_BYTES, Tally


class Notes:
    """Values by name, with versions from a counter that all streams of the bus share.

    Args:
        values: To begin with.
        versions: Gives numbers above 0, none twice.
        tally: Of all that streams hold.

    Raises:
        ValueError: If there are too many values, or one is too large.
    """

    __slots__ = ("_records", "_tally", "_versions")

    def __init__(self, values: Mapping[str, bytes], versions: Iterator[int], tally: Tally) -> None:
        check_notes(values)
        for value in values.values():
            check_note(value)
        self._records: dict[str, Record] = {}
        self._versions = versions
        self._tally = tally
        for name, value in values.items():
            self.put(name, value)

    def records(self) -> Mapping[str, Record]:
        """Return all, as they are now."""
        return dict(self._records)

    def put(self, name: str, value: bytes, *, expected: int | None = None) -> bool:
        """Write one; False if another version than `expected` is there.

        Raises:
            ValueError: If it is too large, or one too many.
        """
        check_note(value)
        known = self._records.get(name)
        if expected is not None and expected != (0 if known is None else known.version):
            return False
        if known is None:
            check_notes((*self._records, name))
            self._tally.size_bytes += ITEM_BYTES
        self._tally.size_bytes += len(value) - (0 if known is None else len(known.value))
        self._records[name] = Record(value, next(self._versions))
        return True

    def end(self) -> None:
        """Forget all."""
        for record in self._records.values():
            self._tally.size_bytes -= len(record.value) + ITEM_BYTES
        self._records.clear()
