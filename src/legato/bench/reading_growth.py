"""Reading out: how the time for a text grows with its length, on texts made to be slow."""

from __future__ import annotations

from time import thread_time

from legato.bench.benchmark import Benchmark, Setup
from legato.bench.row import Figure, Row
from legato.speech.reading import read_out

SHORT = 3_000
TIMES = 4
RUNS = 5
LEAST = 0.004
"""CPU seconds below which a text is not compared: the clock would decide."""

GROWTH = Figure("reading.growth", "x", 2.0 * TIMES)
"""A rule that begins anew at each character takes `TIMES` squared."""

HARD = (
    (".", "", ""),
    ("1", "", ""),
    ("1", "$", ".50"),
    ("٣", "", ""),
    ("000,", "", ""),
    (",000", "1", "1"),
    (" ", "1", "x"),
    ("\u3000", "1±", "x"),
    (" ±", "1", ""),
    (" &", "1", ""),
    ("QQ", "1", ""),
    ("/", "1", ""),
    ("1/", "", ""),
    ("1.", "", ""),
    ("1:", "", ""),
    ("1-", "", ""),
    ("亿", "1", ""),
    ("http://a.b/", "", ""),
    ("www.a.", "", ""),
    ("a@a.", "", ""),
)
"""What is repeated, and what stands before and after it."""
TAGS = ("en", "en-GB", "zh")


def hard_text(unit: str, first: str, last: str, *, size: int) -> str:
    """Return `unit` repeated to about `size` characters, between `first` and `last`."""
    return first + unit * (size // len(unit)) + last


async def measure(setup: Setup) -> list[Row]:
    """Read each hard text at two lengths, by turns, and compare the fastest runs."""
    runs = setup.times(RUNS, 2)
    ratios: list[tuple[float, str]] = []
    for number, kind in enumerate(HARD):
        setup.tell(f"text {number + 1} of {len(HARD)}")
        for tag in TAGS:
            short, long = (hard_text(*kind, size=SHORT * times) for times in (1, TIMES))
            least = [min(pair) for pair in zip(*_by_turns(short, long, tag, runs), strict=True)]
            ratios.append((least[1] / max(least[0], LEAST), f"{kind[0]!r} in {tag}"))
    worst = max(ratios)
    note = (
        f"CPU for {TIMES * SHORT} characters over CPU for {SHORT}, the worst of"
        f" {len(HARD)} texts in {len(TAGS)} languages: {worst[1]}"
    )
    return [GROWTH.of([ratio for ratio, _ in ratios], 1.0, note=note)]


def _by_turns(short: str, long: str, tag: str, runs: int) -> list[tuple[float, float]]:
    return [(_seconds(short, tag), _seconds(long, tag)) for _ in range(runs)]


def _seconds(text: str, tag: str) -> float:
    begin = thread_time()
    read_out(text, tag)
    return thread_time() - begin


BENCHMARKS = (
    Benchmark(
        name="reading.growth",
        about="Time of reading out a text four times as long.",
        figures=(GROWTH,),
        run=measure,
        served=False,
    ),
)
