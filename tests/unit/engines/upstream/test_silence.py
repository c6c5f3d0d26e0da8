import threading
import time

from legato.engines.upstream.silence import Silence


def test_when_the_instant_passes_it_is_called_once() -> None:
    called = threading.Semaphore(0)
    with Silence(called.release) as silence:
        silence.until(time.monotonic())
        assert called.acquire(timeout=5)
    assert silence.broken
    assert not silence.heard
    assert not called.acquire(timeout=0)


def test_when_something_is_heard_it_waits_on() -> None:
    called = threading.Semaphore(0)
    with Silence(called.release) as silence:
        silence.until(time.monotonic() + 60)
        silence.until(None)
    assert silence.heard
    assert not silence.broken
