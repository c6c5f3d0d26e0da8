import asyncio
import os
import signal

import pytest
import typer

from legato.cli.exits import Exit
from legato.cli.loop import Interruption, run
from legato.errors import BadAudio


def test_a_command_returns_what_it_made_and_raises_what_failed() -> None:
    async def made() -> int:
        return 5

    async def failed() -> None:
        raise BadAudio("x.wav")

    assert run(made()) == 5
    with pytest.raises(BadAudio):
        run(failed())


@pytest.mark.parametrize(
    ("number", "exit_"),
    [(signal.SIGINT, Exit.INTERRUPTED), (signal.SIGTERM, Exit.TERMINATED), (signal.SIGHUP, 129)],
)
def test_a_signal_ends_it_after_its_clean_up(number: signal.Signals, exit_: int) -> None:
    cleaned = []

    async def work() -> None:
        try:
            os.kill(os.getpid(), number)
            await asyncio.Event().wait()
        finally:
            cleaned.append(True)

    with pytest.raises(typer.Exit) as caught:
        run(work())

    assert caught.value.exit_code == exit_
    assert cleaned == [True]


def test_the_first_ctrl_c_may_mean_something_gentler() -> None:
    stopped = asyncio.Event()
    interruption = Interruption(gently=stopped.set)

    async def work() -> str:
        os.kill(os.getpid(), signal.SIGINT)
        await stopped.wait()
        return "finished"

    assert run(work(), interruption) == "finished"


def test_ctrl_c_that_meets_the_closing_loop_is_told_like_any_other(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def work() -> None:
        raise KeyboardInterrupt

    with pytest.raises(typer.Exit) as caught:
        run(work())

    assert caught.value.exit_code == Exit.INTERRUPTED
    assert capsys.readouterr().err == "legato: interrupted\n"


def test_ctrl_c_between_the_loops_ends_without_a_traceback() -> None:
    async def nothing() -> None:
        pass

    run(nothing())

    with pytest.raises(SystemExit) as caught:
        os.kill(os.getpid(), signal.SIGINT)
    assert caught.value.code == Exit.INTERRUPTED


@pytest.fixture(autouse=True)
def signals_as_before() -> object:
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)
