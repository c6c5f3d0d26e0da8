"""Sockets and pauses of gateway processes."""

import socket
import sys

import pytest

from legato.cli.fleet import MAX_RESTART_DELAY, delay, listeners
from legato.gateway.server import PortInUse


def test_the_first_death_is_made_good_at_once_and_later_ones_ever_more_slowly() -> None:
    pauses = [delay(failures) for failures in range(1, 5)]
    assert pauses == [0.0, 0.5, 1.0, 2.0]
    assert delay(10_000) == MAX_RESTART_DELAY


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere all share one socket")
def test_each_process_has_a_socket_of_its_own_on_the_port() -> None:
    sockets = listeners("127.0.0.1", 0, 3)
    try:
        assert len({one.getsockname() for one in sockets}) == 1
        assert len(sockets) == 3
    finally:
        for one in sockets:
            one.close()


def test_a_port_that_others_share_is_in_use() -> None:
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(PortInUse):
            listeners("127.0.0.1", other.getsockname()[1], 2)
