"""What a sentence costs, counted with the tone engine, which needs no weights."""

import json

import pytest

from legato.engines.tone import ToneSynthesizer
from legato.worker import overhead
from legato.worker.overhead import Costs, serve, speak_bare


def test_a_plain_loop_takes_all_that_the_engine_makes() -> None:
    engine = ToneSynthesizer()
    cost = speak_bare(engine, "Hello.")
    made = sum(chunk.samples for chunk in engine.synthesize(overhead.REQUEST, ["Hello."]))
    assert cost.samples == made > 0
    assert cost.first > 0
    assert cost.cpu >= 0


@pytest.mark.integration
async def test_both_say_each_line_and_say_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overhead, "NAME", "tone")
    lines = [json.dumps("Hello.").encode(), json.dumps("Good-bye.").encode(), b""]
    said: list[object] = []
    await serve(lambda: lines.pop(0), said.append)
    assert said[0] is None
    costs = [one for one in said if isinstance(one, Costs)]
    assert len(costs) == 2
    assert all(one.bare.samples == one.process.samples > 0 for one in costs)
    assert all(one.process.first > 0 for one in costs)
