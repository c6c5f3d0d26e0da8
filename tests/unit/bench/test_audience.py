import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from websockets.sync.server import ServerConnection, serve

from legato.bench.audience import Audience, Listeners, Playing, Told
from legato.protocol.codec import decode_client, encode
from legato.protocol.media import AudioFrame, encode_frame
from legato.protocol.messages import Ack, Error, Hello, StreamEnd, StreamStart, Welcome

pytestmark = pytest.mark.integration

SAMPLES = 480
RATE = 24_000


def test_audio_that_comes_before_it_is_due_leaves_no_gap() -> None:
    playing = Playing(0.0)
    for at in (10.0, 10.05, 10.2):
        playing.add(0.1, at)
    assert playing.first_at == 10.0
    assert playing.seconds == pytest.approx(0.3)
    assert (playing.underruns, playing.stalled) == (0, 0.0)


def test_audio_that_is_not_there_when_it_is_due_is_an_underrun() -> None:
    playing = Playing(0.0)
    for at in (10.0, 10.3, 10.35, 11.0):
        playing.add(0.1, at)
    assert playing.underruns == 2
    assert playing.stalled == pytest.approx(0.2 + 0.5)


def test_who_holds_the_first_audio_back_has_fewer_gaps() -> None:
    playing = Playing(0.25)
    for at in (10.0, 10.3, 10.35, 11.0):
        playing.add(0.1, at)
    assert playing.underruns == 1


@contextmanager
def serving(talk: Callable[[ServerConnection], None]) -> Iterator[str]:
    def welcome(connection: ServerConnection) -> None:
        assert isinstance(decode_client(connection.recv(decode=True)), Hello)
        connection.send(encode(Welcome(version=1, session_id="s", resume_token="t")))
        talk(connection)

    with serve(welcome, "127.0.0.1", 0, compression=None) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"127.0.0.1:{server.socket.getsockname()[1]}"
        server.shutdown()
        thread.join()


def listened(talk: Callable[[ServerConnection], None], *, within: float = 10.0) -> Told:
    begun: list[bool] = []
    with serving(talk) as address:
        audience = Audience(address=address, starts=[0.1, 0.0], texts=["a", "b"], within=within)
        told = Listeners(audience, lambda: begun.append(True)).run()
    assert begun == [True]
    return told


def test_each_listener_asks_in_its_time_and_hears_to_the_end() -> None:
    acked: list[int] = []

    def speak(connection: ServerConnection) -> None:
        start = decode_client(connection.recv(decode=True))
        assert isinstance(start, StreamStart)
        assert (start.sample_rate, start.options) == (RATE, {"cache": False})
        for _ in range(3):
            connection.recv()
        for number in range(6):
            frame = AudioFrame(bytes(2 * SAMPLES), number, sample=number * SAMPLES)
            connection.send(encode_frame(frame, 1, 0))
        for _ in range(2):
            ack = decode_client(connection.recv(decode=True))
            assert isinstance(ack, Ack)
            acked.append(ack.received_upto)
        connection.send(encode(StreamEnd(stream=1, seq=6)))

    told = listened(speak)
    assert [one.fault for one in told.heard] == ["", ""]
    assert all(one.complete and one.first is not None for one in told.heard)
    assert [one.seconds for one in told.heard] == [pytest.approx(0.12)] * 2
    assert sorted(acked) == [SAMPLES, SAMPLES, 6 * SAMPLES, 6 * SAMPLES]


def test_a_stream_that_is_refused_or_broken_off_is_told() -> None:
    def refuse(connection: ServerConnection) -> None:
        connection.recv()
        connection.send(encode(Error(code="overloaded", message="busy", stream=1)))
        connection.recv()

    told = listened(refuse)
    assert [one.fault for one in told.heard] == ["BadServer: overloaded: busy"] * 2
    assert [one.first for one in told.heard] == [None, None]


def test_a_stream_that_does_not_end_is_told() -> None:
    told = listened(lambda connection: connection.close(1011, "bye"), within=0.5)
    assert all(one.fault for one in told.heard)
