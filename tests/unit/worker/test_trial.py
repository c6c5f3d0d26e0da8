import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from legato.engines.base import EngineKind
from legato.worker import trial
from legato.worker.frames import Sound
from legato.worker.trial import Job, device, run

SECOND = bytes(32_000)


def job(kind: EngineKind, **changes: object) -> Job:
    told: dict[str, object] = {
        "concurrency": [1, 2],
        "seconds": 0.0,
        "live": 4,
        "limit": 20.0,
        "load_timeout": 30.0,
        "texts": {"en": ["Hello there."]},
    }
    return Job(kind=kind, name="tone", **{**told, **changes})  # type: ignore[arg-type]  # a job by its fields


async def lines(job: Job, capfdbinary: pytest.CaptureFixture[bytes]) -> list[dict[str, Any]]:
    await run(job)
    return [json.loads(line) for line in capfdbinary.readouterr().out.splitlines()]


@pytest.mark.integration
async def test_a_synthesizer_is_tried_level_by_level(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    said = await lines(job(EngineKind.SYNTHESIZE), capfdbinary)
    levels = [one["level"] for one in said if "level" in one]
    assert [one["tell"] for one in said if "tell" in one] == ["loading", "1 at once", "2 at once"]
    assert [level["streams"] for level in levels] == [1, 2]
    assert [len(level["waits"]) for level in levels] == [1, 2]
    assert [len(level["rtfs"]) for level in levels] == [1, 2]


@pytest.mark.integration
async def test_a_recognizer_hears_both_at_once_and_live(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    path = tmp_path / "clip.raw"
    path.write_bytes(SECOND[:6_400])
    heard = job(EngineKind.RECOGNIZE, speech={"en": [str(path)]})
    said = await lines(heard, capfdbinary)
    levels = [one["level"] for one in said if "level" in one]
    assert [len(level["rtfs"]) for level in levels] == [1, 2]
    assert [len(level["waits"]) for level in levels] == [4, 4]
    assert all(wait < 15 for level in levels for wait in level["waits"])


@pytest.mark.integration
async def test_an_engine_that_cannot_be_used_is_refused_with_its_reason(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    said = await lines(job(EngineKind.SYNTHESIZE, target="no:where"), capfdbinary)
    assert said[-1]["refused"] == "no:where is not an engine's module:Class"


@pytest.mark.integration
async def test_a_level_that_takes_too_long_is_given_up(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    said = await lines(job(EngineKind.SYNTHESIZE, seconds=9.0, limit=0.2), capfdbinary)
    assert said[-1]["refused"] == "1 at once: not done within 0.2 s"


async def test_more_streams_than_slots_wait_and_the_wait_counts() -> None:
    class FakeCall:
        """Speaks a second of silence after a moment."""

        async def feed(self, piece: str) -> None:
            await asyncio.sleep(0)

        def end(self) -> None:
            pass

        async def __aiter__(self) -> AsyncIterator[Sound]:
            yield Sound(1, SECOND)

    class FakeProcess:
        """Has a call for everybody."""

        def open(self, request: object) -> FakeCall:
            return FakeCall()

    stage = trial.Stage(FakeProcess(), 1)  # type: ignore[arg-type]  # it only opens calls
    samples = trial.Samples([], [])
    await asyncio.gather(*(stage.speak("a", samples) for _ in range(3)))
    assert len(samples.waits) == len(samples.rtfs) == 3
    assert samples.audio == 3.0


def test_a_process_that_holds_a_card_computes_on_it(tmp_path: Path) -> None:
    folder = tmp_path / "7" / "fd"
    folder.mkdir(parents=True)
    (folder / "0").symlink_to("/dev/null")
    assert device(7, tmp_path) == "cpu"
    assert device(8, tmp_path) == "cpu"
    (folder / "5").symlink_to("/dev/nvidia0")
    assert device(7, tmp_path) == "gpu"
    card = tmp_path / "driver" / "nvidia" / "gpus" / "0000:01:00.0"
    card.mkdir(parents=True)
    (card / "information").write_text("Model: \t\t NVIDIA L20\nIRQ: 1\n")
    assert device(7, tmp_path) == "NVIDIA L20"
