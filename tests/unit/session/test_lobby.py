import pytest

from legato.audio import AudioFormat
from legato.errors import Overloaded, RateLimited, StreamExists
from legato.protocol.media import AudioFrame
from legato.protocol.messages import Finalize, StreamStart, Text
from legato.session.lobby import EARLY_BYTES, EARLY_ENTRIES, REMEMBERED, Lobby
from legato.session.server_stream import ServerStream


def start(number: int, stream_id: str = "a") -> StreamStart:
    return StreamStart(stream=number, stream_id=stream_id, task="echo")


def lobby_with(*numbers: int) -> Lobby:
    lobby = Lobby(4)
    for number in numbers:
        lobby.ask(start(number))
    return lobby


def test_a_start_waits_until_it_is_admitted() -> None:
    lobby = lobby_with(1)
    assert lobby.asked(1) == start(1)
    assert len(lobby) == 1
    assert lobby.admit(1) == (start(1), [])
    assert lobby.admit(1) is None
    assert lobby.asked(1) is None


def test_what_comes_behind_a_start_is_held() -> None:
    lobby, frame, text = lobby_with(1), AudioFrame(b"ab"), Text(text="c")
    assert lobby.hold(1, 0, frame)
    assert lobby.hold(1, None, text)
    assert lobby.admit(1) == (start(1), [(0, frame), (None, text)])


def test_number_0_means_the_only_one_that_waits() -> None:
    lobby = lobby_with(7)
    assert lobby.hold(0, 0, Finalize())
    assert lobby.resolve(0) == 7
    lobby.ask(start(8))
    assert lobby.resolve(0) == 0
    assert not lobby.hold(0, 1, Finalize())


def test_an_entry_of_a_stream_that_was_never_asked_for_is_not_held() -> None:
    assert not lobby_with(1).hold(2, 0, Finalize())


def test_an_entry_of_a_stream_that_is_gone_is_dropped_silently() -> None:
    lobby = lobby_with(1, 2)
    lobby.forget(1)
    assert lobby.hold(1, 0, Finalize())
    assert lobby.admit(1) is None
    assert lobby.knows(1)


def test_a_number_can_be_used_again() -> None:
    lobby = lobby_with(1)
    lobby.forget(1)
    lobby.ask(start(1))
    assert lobby.admit(1) == (start(1), [])
    assert not lobby.knows(1)


def test_a_new_stream_is_what_0_means_even_if_a_stream_0_is_gone() -> None:
    lobby = lobby_with(0)
    lobby.forget(0)
    lobby.ask(start(5))
    assert not lobby.knows(0)
    assert lobby.resolve(0) == 5


def test_only_so_many_numbers_are_remembered() -> None:
    lobby = lobby_with()
    for number in range(REMEMBERED + 1):
        lobby.forget(number)
    assert not lobby.knows(0)
    assert lobby.knows(1)


def test_only_so_many_entries_are_held() -> None:
    lobby = lobby_with(1)
    for number in range(EARLY_ENTRIES):
        lobby.hold(1, number, Finalize())
    with pytest.raises(RateLimited, match="wait for stream_started"):
        lobby.hold(1, EARLY_ENTRIES, Finalize())


@pytest.mark.parametrize(
    "large", [AudioFrame(bytes(EARLY_BYTES)), Text(text="x" * (EARLY_BYTES // 4))]
)
def test_only_so_many_bytes_are_held_for_all_streams(large: AudioFrame | Text) -> None:
    lobby = lobby_with(1, 2)
    lobby.hold(1, 0, large)
    with pytest.raises(RateLimited):
        lobby.hold(2, 0, AudioFrame(b"ab"))


def test_what_is_taken_or_dropped_makes_room() -> None:
    lobby, large = lobby_with(1), AudioFrame(bytes(EARLY_BYTES))
    lobby.hold(1, 0, large)
    lobby.forget(1)
    lobby.ask(start(2))
    assert lobby.hold(2, 0, large)
    lobby.admit(2)
    lobby.ask(start(3))
    assert lobby.hold(3, 0, large)


def test_a_stream_id_is_used_once_at_a_time() -> None:
    lobby = lobby_with(1)
    running = ServerStream(start(2, "b"), AudioFormat(16_000))
    for name in ("a", "b"):
        with pytest.raises(StreamExists, match=f"stream_id {name} is in use"):
            lobby.check(start(3, name), [running])
    lobby.check(start(3, "c"), [running])


def test_a_connection_has_only_so_many_streams() -> None:
    lobby = lobby_with(1, 2, 3)
    running = ServerStream(start(4, "b"), AudioFormat(16_000))
    with pytest.raises(Overloaded, match="4 streams are open") as caught:
        lobby.check(start(5, "c"), [running])
    assert caught.value.retry_after == 1.0
