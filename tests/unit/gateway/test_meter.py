import pytest

from legato.gateway.meter import HEAVY_SECONDS, Meter
from legato.telemetry.metrics import REGISTRY
from tests.unit.gateway.stage import FORMAT


def seconds(direction: str) -> float:
    return REGISTRY.get_sample_value("legato_audio_seconds_total", {"direction": direction}) or 0.0


def test_what_was_carried_is_counted_once_and_not_what_others_counted() -> None:
    meter = Meter(FORMAT)
    before = seconds("up"), seconds("down")
    meter.skip(FORMAT.sample_rate, 0)
    meter.count(3 * FORMAT.sample_rate, FORMAT.sample_rate)
    meter.count(3 * FORMAT.sample_rate, FORMAT.sample_rate)
    assert seconds("up") - before[0] == pytest.approx(2.0)
    assert seconds("down") - before[1] == pytest.approx(1.0)


def test_a_stream_is_heavy_until_it_is_counted() -> None:
    meter, much = Meter(FORMAT), FORMAT.samples(HEAVY_SECONDS)
    assert not meter.is_heavy(much - 1, 1)
    assert meter.is_heavy(much, 1)
    meter.count(much, 1)
    assert not meter.is_heavy(much, 1)
