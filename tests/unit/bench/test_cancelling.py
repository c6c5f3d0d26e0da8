import pytest

from legato.bench.cancelling import LONG, Cancelled, Ears, rows
from legato.errors import Overloaded
from legato.protocol.codec import encode
from legato.protocol.media import AudioFrame, encode_frame
from legato.protocol.messages import Error, Message, UtteranceEnd


class FakeSocket:
    """Holds what a server said, and keeps what it is told."""

    def __init__(self, *heard: str | bytes) -> None:
        self._heard = list(heard)
        self.sent: list[str] = []

    def __aiter__(self) -> "FakeSocket":
        return self

    async def __anext__(self) -> str | bytes:
        if not self._heard:
            raise StopAsyncIteration
        return self._heard.pop(0)

    async def send(self, message: str) -> None:
        self.sent.append(message)


def frame(seq: int, *, stream: int = 3, utterance: int = 0) -> bytes:
    return encode_frame(AudioFrame(b"\0\0", seq, utterance=utterance), stream, 0)


def ears_of(*heard: bytes | Message) -> tuple[Ears, FakeSocket]:
    socket = FakeSocket(*(one if isinstance(one, bytes) else encode(one) for one in heard))
    return Ears(socket), socket  # type: ignore[arg-type]  # a fake of the two things it uses


def test_the_slowest_cancel_is_held_against_the_bound() -> None:
    silence, slot = rows([Cancelled(0.0, 0.06), Cancelled(0.004, 0.09), Cancelled(0.0, 0.25)])
    assert (silence.value, silence.ok, silence.n) == (0.004, True, 3)
    assert "after 2 of 3 cancels none came" in silence.note
    assert (slot.value, slot.ok, slot.p50) == (0.25, False, 0.09)


async def test_ears_note_the_first_and_the_last_frame_of_each_utterance() -> None:
    end = UtteranceEnd(stream=3, seq=2, utterance=0, reason="cancelled")
    ears, socket = ears_of(frame(0), frame(1), end, frame(3, utterance=1))
    await ears.listen()
    await ears.until(lambda: (3, 1) in ears.first)
    assert ears.first[3, 0] <= ears.last[3, 0] <= ears.first[3, 1]
    assert ears.ended == {(3, 0)}
    assert len(socket.sent) == 1


async def test_an_error_of_the_server_ends_the_measurement() -> None:
    ears, _ = ears_of(Error(code="overloaded", message="come back later"))
    with pytest.raises(Overloaded, match="come back later"):
        await ears.listen()


def test_the_text_is_long_enough_to_be_interrupted() -> None:
    assert len(LONG.split()) > 300
