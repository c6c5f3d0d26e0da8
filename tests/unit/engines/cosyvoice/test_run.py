import threading
from types import SimpleNamespace

import pytest

from legato.engines.cosyvoice.run import POLL, Abandoned, Run, current


def model() -> SimpleNamespace:
    return SimpleNamespace(tokens={"other": [1]}, ended={}, name="x")


def test_a_thread_knows_its_request() -> None:
    assert current() is None
    outer, inner = Run(model(), 25), Run(model(), 25)
    with outer.entered():
        with inner.entered():
            assert current() is inner
        assert current() is outer
    assert current() is None


def test_a_clip_begins_with_a_short_chunk() -> None:
    run = Run(model(), 25)
    run.hop = 100
    run.begin_clip("a")
    assert (run.hop, run.clips) == (25, 1)


def test_only_what_is_its_own_is_dropped() -> None:
    shared = model()
    run = Run(shared, 25)
    run.begin_clip("a")
    shared.tokens["a"], shared.ended["a"] = [1, 2], False
    assert run.progress() == 3
    run.stop()
    assert shared.tokens == {"other": [1]}
    assert shared.ended == {}


def test_who_pauses_waits_less_than_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float | None] = []

    class Event(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            waits.append(timeout)
            return self.is_set()

    monkeypatch.setattr(threading, "Event", Event)
    run = Run(model(), 25)
    run.pause(0.1)
    run.pause(0.001)
    assert waits == [POLL, 0.001]
    assert POLL <= 0.01


def test_nothing_goes_on_after_the_end() -> None:
    run = Run(model(), 25)
    run.check()
    run.stop()
    assert run.is_over
    for step in (run.check, lambda: run.pause(1)):
        with pytest.raises(Abandoned):
            step()


def test_what_breaks_after_a_stop_is_no_failure() -> None:
    stopped, failed = Run(model(), 25), Run(model(), 25)
    stopped.stop()
    stopped.fail(KeyError("x"))
    assert stopped.failure is None
    failed.fail(ValueError("first"))
    failed.fail(ValueError("second"))
    assert str(failed.failure) == "first"
    assert failed.is_over


def test_it_settles_when_its_threads_have_ended() -> None:
    shared = model()
    run = Run(shared, 25)
    run.begin_clip("a")
    late = threading.Thread(target=lambda: shared.ended.update(a=True))
    never = threading.Thread()
    run.watch(late)
    run.watch(never)  # CosyVoice may fail before it starts it
    late.start()
    run.settle()
    assert shared.ended == {}
