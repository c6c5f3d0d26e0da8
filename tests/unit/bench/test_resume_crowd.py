import asyncio

import pytest

from legato.bench.metrics import Buckets
from legato.bench.process import ServerFailed
from legato.bench.resume_crowd import WITHIN, crew, rows_of
from legato.bench.resumers import Clients, Ending, Outcome
from legato.bench.stack import embedded

LOOKS = Buckets({0.01: 98, 0.25: 2})
FINE = [Ending(wrong=0, failed=[])]


def outcome(*took: float, missing: int = 0) -> Outcome:
    return Outcome(took=list(took), late=0.002, missing=missing)


def test_the_slowest_of_all_cuts_and_processes_counts() -> None:
    cuts = [[outcome(0.1, 0.2), outcome(0.3)], [outcome(0.1, 0.5), outcome(0.2)]]
    resumed, lag, wrong = rows_of(cuts, LOOKS, FINE, busy=1.5)
    assert (resumed.value, resumed.n, resumed.ok) == (0.5, 6, True)
    assert "slowest of each cut 0.30, 0.50 s; 3 clients" in resumed.note
    assert (lag.value, lag.n, lag.ok) == (0.25, 100, True)
    assert "98 to 0.01, 2 to 0.25 s" in lag.note
    assert (wrong.value, wrong.ok) == (0, True)


def test_a_stream_that_is_not_back_in_time_misses_the_bound() -> None:
    resumed, _, _ = rows_of([[outcome(0.1, missing=1)]], LOOKS, FINE, busy=1.5)
    assert (resumed.value, resumed.ok, resumed.n) == (WITHIN, False, 2)
    assert resumed.note.startswith("1 were not back after")


def test_streams_that_fail_leave_nothing_to_measure_and_say_why() -> None:
    endings = [Ending(wrong=320, failed=["internal: oh"]), *FINE]
    resumed, _, wrong = rows_of([[outcome(0.1)]], LOOKS, endings, busy=1.5)
    assert resumed.value is None
    assert "1 streams failed: internal: oh" in resumed.note
    assert wrong.value == 320


@pytest.mark.integration
async def test_clients_that_are_cut_at_once_all_come_back() -> None:
    async with embedded() as server, crew(2) as clients:
        await clients.open(Clients(address=server.running.address, count=5, every=0.1))
        await asyncio.sleep(0.3)
        outcomes = await clients.cut()
        endings = await clients.end()
    assert [(len(one.took), one.missing) for one in outcomes] == [(5, 0), (5, 0)]
    assert endings == [Ending(wrong=0, failed=[])] * 2


@pytest.mark.integration
async def test_a_server_that_is_not_there_is_told() -> None:
    async with crew(1) as clients:
        with pytest.raises(ServerFailed, match="cannot be reached"):
            await clients.open(Clients(address="127.0.0.1:1", count=1, every=1.0))
