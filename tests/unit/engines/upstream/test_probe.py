import socket
import threading

from legato.engines.upstream.probe import Prober, reachable
from tests.standins.upstream.web import unused_port


def test_an_address_at_which_something_listens_is_reachable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert reachable(f"ws://127.0.0.1:{server.getsockname()[1]}/path", 1.0)
    assert not reachable(f"grpc://127.0.0.1:{unused_port()}", 1.0)


def test_it_looks_again_and_again_until_it_is_closed() -> None:
    looked = threading.Semaphore(0)
    prober = Prober(looked.release, 0.001)
    prober.start()
    assert all(looked.acquire(timeout=5) for _ in range(3))
    prober.close()


def test_an_interval_of_zero_is_never() -> None:
    before = threading.active_count()
    prober = Prober(lambda: None, 0)
    prober.start()
    assert threading.active_count() == before
    prober.close()
