from legato.bench.soak import Holdings, Readings, rows_of


def held(*, tasks: int = 9, files: int = 21, keys: frozenset[bytes] = frozenset()) -> Holdings:
    return Holdings({"gateway": tasks, "worker": 14}, {"gateway": files, "worker": 20}, set(keys))


def readings(step: int) -> Readings:
    at = [250.0 * number for number in range(1, 41)]
    return Readings(at, {"gateway": [1e8 + step * x for x in at], "worker": [5e7] * 40})


def test_what_is_as_before_is_within_the_bounds() -> None:
    rows = rows_of(readings(0), held(), held(), 10_000, 5_000)
    assert [row.name for row in rows] == [
        "soak.memory.gateway",
        "soak.memory.worker",
        "soak.trend.gateway",
        "soak.trend.worker",
        "soak.tasks",
        "soak.descriptors",
        "soak.keys",
        "soak.failed",
    ]
    assert all(row.ok for row in rows)


def test_a_leak_shows_in_slope_and_trend_of_its_process() -> None:
    rows = {row.name: row for row in rows_of(readings(2048), held(), held(), 10_000, 5_000)}
    assert (rows["soak.memory.gateway"].value, rows["soak.memory.gateway"].ok) == (2.0, False)
    assert rows["soak.trend.gateway"].ok is False
    assert rows["soak.memory.worker"].ok is rows["soak.trend.worker"].ok is True


def test_what_is_left_and_what_is_missing_both_count() -> None:
    before = held(keys=frozenset({b"legato:gone", b"legato:kept"}))
    after = held(tasks=11, files=20, keys=frozenset({b"legato:kept", b"legato:left"}))
    rows = {row.name: row for row in rows_of(readings(0), before, after, 10_000, 5_000)}
    assert rows["soak.tasks"].value == 2
    assert rows["soak.descriptors"].value == 1
    assert rows["soak.keys"].value == 2
    assert "legato:gone" in rows["soak.keys"].note


def test_streams_that_were_not_served_are_told() -> None:
    seen = readings(0)
    seen.failed = ["TimeoutError: timed out"]
    row = rows_of(seen, held(), held(), 10_000, 5_000)[-1]
    assert (row.value, row.ok) == (1, False)
    assert "TimeoutError: timed out" in row.note
