import io
import threading

import pytest
import typer
from rich.console import Console

from legato.cli.exits import Exit
from legato.cli.fetching import Bar, in_thread
from legato.engines.models.faults import ModelNotFound, Stopped
from legato.engines.models.records import FileRecord, Manifest

RECORD = FileRecord(path="a.bin", size_bytes=1_000)
MANIFEST = Manifest(model="m", revision="r", files=(RECORD,))


def console(*, terminal: bool) -> Console:
    return Console(file=io.StringIO(), force_terminal=terminal, width=100, soft_wrap=True)


def shown(console: Console) -> str:
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


def test_a_terminal_is_shown_how_far_it_is() -> None:
    place = console(terminal=True)
    with Bar("fetching m", console=place) as bar:
        bar.listed(MANIFEST)
        bar.moved(500)
        bar.done(RECORD)
    assert "fetching m: a.bin" in shown(place)
    assert "0.5/1.0 kB" in shown(place)


def test_elsewhere_one_line_says_what_comes() -> None:
    place = console(terminal=False)
    with Bar("fetching m", console=place) as bar:
        bar.listed(MANIFEST)
        bar.moved(500)
    assert shown(place) == "legato: fetching m: 1 files, 1.0 kB\n"


def test_a_program_is_told_nothing() -> None:
    place = console(terminal=True)
    with Bar("fetching m", quiet=True, console=place) as bar:
        bar.listed(MANIFEST)
        bar.done(RECORD)
    assert shown(place) == ""


def test_work_is_done_in_a_thread_and_its_fault_told() -> None:
    names: list[str] = []

    def work() -> int:
        names.append(threading.current_thread().name)
        return 7

    assert in_thread(work, threading.Event(), lambda: "") == 7
    assert names != [threading.main_thread().name]

    def fail() -> int:
        raise ModelNotFound("no")

    with pytest.raises(ModelNotFound):
        in_thread(fail, threading.Event(), lambda: "")


def test_a_signal_stops_the_work_and_says_what_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    import signal

    stop = threading.Event()

    def work() -> None:
        signal.raise_signal(signal.SIGINT)
        stop.wait(10)
        raise Stopped

    with pytest.raises(typer.Exit) as ended:
        in_thread(work, stop, lambda: "half of it is kept")
    assert ended.value.exit_code == Exit.INTERRUPTED
    assert stop.is_set()
    assert capsys.readouterr().err == "legato: half of it is kept\nlegato: interrupted\n"
