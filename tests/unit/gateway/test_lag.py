import asyncio

from prometheus_client import CollectorRegistry, Histogram

from legato.gateway.lag import EVERY, watch_lag
from tests.unit.gateway.virtual import VirtualLoop


async def looked_at(registry: CollectorRegistry, busy: float) -> None:
    """Watch for a second in which the loop once has work for `busy` seconds."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    histogram = Histogram("lag", "Lag.", buckets=(0.01, 0.5), registry=registry)
    watch = asyncio.create_task(watch_lag(histogram))
    await asyncio.sleep(EVERY / 2)
    loop.now += busy
    await asyncio.sleep(1.0)
    watch.cancel()
    await asyncio.wait({watch})


def noted(busy: float) -> tuple[float, float, float]:
    """Seconds of lag in all, looks up to 10 ms late, and all looks."""
    registry = CollectorRegistry()
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(looked_at(registry, busy))
    values = [
        registry.get_sample_value(name, labels)
        for name, labels in (
            ("lag_sum", {}),
            ("lag_bucket", {"le": "0.01"}),
            ("lag_count", {}),
        )
    ]
    total, prompt, count = (-1.0 if value is None else value for value in values)
    return round(total, 6), prompt, count


def test_a_loop_with_nothing_to_do_is_not_late() -> None:
    total, prompt, count = noted(busy=0.0)
    assert total == 0
    assert prompt == count
    assert count in (10, 11)


def test_one_long_piece_of_work_makes_one_look_late() -> None:
    total, prompt, count = noted(busy=0.3)
    assert total == 0.25  # the look was due 0.05 s after the work began
    assert prompt == count - 1
