"""Whether the engine chosen for a stream can do what is asked of it beside the plain work."""

from __future__ import annotations

from collections.abc import Iterable

from legato.bus.records import EngineRecord
from legato.protocol.messages import StreamStart
from legato.speech.wishes import AUTO, DETECTION, check, wishes


def check_abilities(
    start: StreamStart, record: EngineRecord, offered: Iterable[EngineRecord]
) -> None:
    """Refuse a recognition of which the chosen engine cannot do something.

    Args:
        start: What is asked.
        record: The engine chosen.
        offered: All engines for the task.

    Raises:
        UnsupportedOption: Names what the engine does not have, and engines that do.
    """
    if start.task != "recognize":
        return
    asked = wishes(start.language, start.hotwords, start.options)
    able = {other.name: other.abilities for other in offered if other.state == "ready"}
    check(asked, engine=record.name, abilities=record.abilities, able=able)


def detects(record: EngineRecord, language: str) -> bool:
    """Whether the engine is to find the language, and can."""
    return language == AUTO and DETECTION in record.abilities
