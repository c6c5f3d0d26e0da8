import threading

import pytest

from legato.client.synchronous import LoopThread, connect_sync
from legato.errors import ConnectionLost


async def where() -> int:
    return threading.get_ident()


async def broken() -> None:
    raise KeyError("as it was raised")


async def nothing() -> None:
    pass


def test_work_is_done_in_another_thread() -> None:
    thread = LoopThread()
    called: list[int] = []

    assert thread.run(where()) != threading.get_ident()
    thread.call(lambda: called.append(threading.get_ident()))
    with pytest.raises(KeyError, match="as it was raised"):
        thread.run(broken())

    thread.close(nothing)
    thread.close(nothing)
    assert called
    assert called[0] != threading.get_ident()
    with pytest.raises(ConnectionLost, match="closed"):
        thread.run(where())


def test_the_thread_ends_with_the_client() -> None:
    before = threading.active_count()

    with connect_sync("ws://127.0.0.1:1", pool_size=1) as client:
        assert threading.active_count() == before + 1
        with pytest.raises(ConnectionLost, match="legato serve"):
            next(client.speak("Hello."))

    assert threading.active_count() <= before + 1  # less the pool of threads that looks up names
    with pytest.raises(ConnectionLost):
        client.voices()
