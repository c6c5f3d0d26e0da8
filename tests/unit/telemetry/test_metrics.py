import re

from legato.telemetry import metrics


def names() -> list[str]:
    return [family.name for family in metrics.REGISTRY.collect()]


def test_every_metric_carries_the_products_name() -> None:
    assert names()
    assert all(name.startswith("legato_") for name in names())


def test_durations_are_seconds_and_say_so() -> None:
    histograms = [f for f in metrics.REGISTRY.collect() if f.type == "histogram"]
    assert histograms
    assert all(family.name.endswith("_seconds") for family in histograms)


def test_every_metric_is_explained() -> None:
    assert all(family.documentation.endswith(".") for family in metrics.REGISTRY.collect())


def test_the_benchmarks_bounds_are_bucket_bounds() -> None:
    metrics.FIRST_AUDIO.labels("test").observe(0.08)
    bounds = re.findall(r'first_audio_seconds_bucket{engine="test",le="([^"]+)"}', text())
    assert {"0.09", "0.2"} <= set(bounds)


def test_what_was_counted_is_shown() -> None:
    metrics.JOBS.labels("test", "ok").inc()
    assert 'legato_jobs_total{engine="test",outcome="ok"} 1.0' in text()


def text() -> str:
    return metrics.exposition().decode()
