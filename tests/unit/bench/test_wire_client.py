import threading
from collections.abc import Iterator

import pytest
from websockets.sync.server import ServerConnection, serve

from legato.bench.wire_client import BINARY, TEXT, BadServer, Dialled, Reassembly, frame


def from_server(opcode: int, payload: bytes) -> bytes:
    """The same frame without its mask."""
    data = bytearray(frame(opcode, payload))
    mask = 2 if len(payload) < 126 else 4 if len(payload) < 65_536 else 10
    data[1] &= 0x7F
    return bytes(data[:mask] + data[mask + 4 :])


@pytest.fixture
def address() -> Iterator[str]:
    def talk(connection: ServerConnection) -> None:
        connection.send("welcome")
        for message in connection:
            if message == "leave":
                connection.close(4000, "as you wish")
                return
            connection.send(message)

    with serve(talk, "127.0.0.1", 0, compression=None) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"127.0.0.1:{server.socket.getsockname()[1]}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("size", [0, 1, 125, 126, 6400, 65_535, 65_536, 70_000])
def test_a_frame_of_any_size_comes_whole_however_it_is_cut(size: int) -> None:
    payload = bytes(number % 251 + 1 for number in range(size))
    data = from_server(BINARY, payload) + from_server(TEXT, b"next")
    for cut in {1, 2, 3, 5, 9, len(data) // 2, len(data) - 1}:
        parts = Reassembly()
        found = parts.take(data[:cut]) + parts.take(data[cut:])
        assert found == [(BINARY, payload), (TEXT, b"next")]


@pytest.mark.parametrize("data", [frame(TEXT, b"masked"), b"\x01\x02no"])
def test_a_frame_that_is_masked_or_a_part_is_refused(data: bytes) -> None:
    with pytest.raises(BadServer, match="masked or in parts"):
        Reassembly().take(data)


@pytest.mark.integration
def test_a_server_takes_what_is_sent_and_is_heard(address: str) -> None:
    line = Dialled(address, "/")
    assert line.receive() == (TEXT, b"welcome")
    for payload in (b"\x01\x02", bytes(70_000)):
        line.send(BINARY, payload)
        assert line.receive() == (BINARY, payload)
    line.send(TEXT, "leave")
    with pytest.raises(BadServer, match="the server closed: as you wish"):
        line.receive()
    line.socket.close()


@pytest.mark.integration
def test_a_connection_comes_from_the_address_that_is_asked_for(address: str) -> None:
    line = Dialled(address, "/", "127.0.0.3")
    assert line.socket.getsockname()[0] == "127.0.0.3"
    line.socket.close()
