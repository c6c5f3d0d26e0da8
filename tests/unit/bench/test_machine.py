import os
from pathlib import Path

import pytest

from legato.bench.machine import (
    busy_seconds,
    cpu_seconds,
    describe,
    open_files,
    raise_open_files,
    rss_bytes,
)


def process(proc: Path, pid: int, *, nanoseconds: int, children: str = "") -> None:
    task = proc / str(pid) / "task" / str(pid)
    task.mkdir(parents=True)
    (task / "schedstat").write_text(f"{nanoseconds} 17 4\n")
    (task / "children").write_text(children)


def test_the_time_of_a_process_is_that_of_its_threads_and_children(tmp_path: Path) -> None:
    process(tmp_path, 10, nanoseconds=1_500_000_000, children="11 12 ")
    process(tmp_path, 11, nanoseconds=250_000_000)
    process(tmp_path, 12, nanoseconds=250_000_000)
    ended = tmp_path / "10" / "task" / "99"
    ended.mkdir()
    assert cpu_seconds(10, tmp_path) == 2.0


def test_a_process_that_is_not_there_has_no_time(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="10"):
        cpu_seconds(10, tmp_path)


def test_memory_is_the_resident_pages(tmp_path: Path) -> None:
    (tmp_path / "10").mkdir()
    (tmp_path / "10" / "statm").write_text("5000 300 100 1 0 200 0\n")
    assert rss_bytes(10, tmp_path) == 300 * os.sysconf("SC_PAGE_SIZE")


def test_a_machine_is_busy_with_all_but_waiting(tmp_path: Path) -> None:
    tick = os.sysconf("SC_CLK_TCK")
    times = [3 * tick, tick, 2 * tick, 99 * tick, 50 * tick, tick, tick, 5 * tick, 0, 0]
    rows = f"cpu  {' '.join(map(str, times))}\ncpu0 1 1 1 1 1 1 1 1 0 0\n"
    (tmp_path / "stat").write_text(rows)
    assert busy_seconds(tmp_path) == 8.0


def test_open_files_are_counted(tmp_path: Path) -> None:
    folder = tmp_path / "10" / "fd"
    folder.mkdir(parents=True)
    for number in range(3):
        (folder / str(number)).touch()
    assert open_files(10, tmp_path) == 3


def test_a_machine_is_told_by_its_processor(tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text("processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\n")
    assert ", Some CPU @ 2 GHz, " in describe(tmp_path)


def test_a_machine_without_a_list_of_processors_is_told_too(tmp_path: Path) -> None:
    assert "cores, " in describe(tmp_path)


def test_what_may_be_opened_is_never_lowered() -> None:
    few = raise_open_files(10)
    assert few == 10
    assert raise_open_files(10) == few
