"""Cancels of calls of the tone engine, which needs no weights."""

import pytest

from legato.engines.base import EngineKind
from legato.worker import freeing
from legato.worker.config import EngineSpec
from legato.worker.freeing import DEADLINE, Freeing


@pytest.mark.integration
async def test_a_slot_is_seen_to_be_free_after_each_cancel(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = EngineSpec(kind=EngineKind.SYNTHESIZE, name="tone", slots=1)
    monkeypatch.setattr(freeing, "SPEC", spec)
    monkeypatch.setattr(freeing, "FULL", 0.01)
    monkeypatch.setattr(freeing, "LATEST", 0.0)
    found = await Freeing().measure(2)
    assert {name: len(took) for name, took in found.items()} == {"waiting": 2, "working": 2}
    assert all(0 < took < DEADLINE for times in found.values() for took in times)
