"""Streams of another client library: a program that runs them and tells what happens.

`python -P speakers.py URL PLANS`, where PYTHONPATH leads to that library and to its tests: what is
imported here is theirs. PLANS is JSON: arguments of `Plan`, and `stream_id`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import legato
from tests.faults.history import Event, History, Type
from tests.faults.workload import Plan, Speaker


class Told(History):
    """Writes each event to stdout at once."""

    def record(self, proc: str, op: str, type: Type, **facts: Any) -> Event:  # noqa: A002  (as its parent has it)
        event = super().record(proc, op, type, **facts)
        sys.stdout.write(event.line() + "\n")
        sys.stdout.flush()
        return event


async def main(url: str, plans: list[dict[str, Any]]) -> None:
    """Run all streams at once."""
    history = Told()
    history.record("client", "library", "ok", version=legato.__version__)
    async with legato.connect(url) as client:
        names = [plan.pop("stream_id") for plan in plans]
        speakers = [
            Speaker(client, Plan(**plan), history, stream_id=name)
            for name, plan in zip(names, plans, strict=True)
        ]
        await asyncio.gather(*(speaker.run() for speaker in speakers))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], json.loads(sys.argv[2])))
