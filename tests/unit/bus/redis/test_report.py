import asyncio

from legato.bus.redis.report import Report
from legato.errors import BusUnavailable, LegatoError


def test_only_what_is_news_is_told() -> None:
    numbers: list[int] = []
    report = Report(numbers.append)
    for number in (0, 2, 2, 1, 5):
        report.stored(number)
    assert numbers == [2, 5]


async def test_the_end_is_told_in_the_next_turn() -> None:
    reasons: list[LegatoError] = []
    report = Report(failed=reasons.append)
    assert report.wants_end
    report.failed(reason := BusUnavailable("closed"))
    assert reasons == []
    await asyncio.sleep(0)
    assert reasons == [reason]


async def test_who_wants_to_know_nothing_is_told_nothing() -> None:
    report = Report()
    report.stored(1)
    report.failed(BusUnavailable("closed"))
    assert not report.wants_end
