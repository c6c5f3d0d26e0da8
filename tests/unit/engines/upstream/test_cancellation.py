import threading
from collections.abc import Generator

import pytest

from legato.engines.upstream.cancellation import Cancellation, Stream


def broken() -> Generator[int, None, None]:
    """What comes of a socket that was shut."""
    yield from ()
    raise OSError


def test_what_waits_is_stopped() -> None:
    cancellation, stopped = Cancellation(), []
    with cancellation.stopping(lambda: stopped.append(1)):
        cancellation.cancel()
        cancellation.cancel()
    assert stopped == [1]
    assert cancellation.wait(0)


def test_what_waits_no_longer_is_let_be() -> None:
    cancellation, stopped = Cancellation(), []
    with cancellation.stopping(lambda: stopped.append(1)):
        pass
    cancellation.cancel()
    assert stopped == []


def test_what_begins_to_wait_after_the_cancel_is_stopped_at_once() -> None:
    cancellation, stopped = Cancellation(), []
    cancellation.cancel()
    with cancellation.stopping(lambda: stopped.append(1)):
        assert stopped == [1]


def test_a_stream_is_closed_while_another_thread_waits_in_it() -> None:
    cancellation, waiting, ended = Cancellation(), threading.Event(), threading.Event()

    def work() -> Generator[int, None, None]:
        woken = threading.Event()
        with cancellation.stopping(woken.set):
            waiting.set()
            assert woken.wait(5)
            yield from broken()

    stream = Stream(work(), cancellation)

    def pull() -> None:
        assert list(stream) == []
        ended.set()

    thread = threading.Thread(target=pull)
    thread.start()
    assert waiting.wait(5)
    stream.interrupt()
    assert ended.wait(5)
    thread.join()


def test_an_error_of_a_stream_that_is_wanted_is_raised() -> None:
    def work() -> Generator[int, None, None]:
        yield 1
        raise OSError

    stream = Stream(work(), Cancellation())
    assert next(stream) == 1
    with pytest.raises(OSError):  # noqa: PT011  it has no message
        next(stream)


def test_closing_a_stream_cleans_up() -> None:
    cleaned = []

    def work() -> Generator[int, None, None]:
        try:
            yield 1
        finally:
            cleaned.append(1)

    stream = Stream(work(), Cancellation())
    next(stream)
    stream.close()
    assert cleaned == [1]
