import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.frames import Frame, Opcode
from websockets.protocol import SERVER, Protocol

from legato.gateway.framing import LONG, framed, take_whole

LARGEST = 262_144

messages = st.lists(
    st.one_of(
        st.text(max_size=300),
        st.binary(max_size=300),
        st.sampled_from([b"\0" * size for size in (125, 126, 127, 65_535, 65_536)]),
    ),
    max_size=6,
)


def sent(message: str | bytes, *, fin: bool = True, opcode: Opcode | None = None) -> bytes:
    """A frame as a client sends it."""
    if opcode is None:
        opcode = Opcode.TEXT if isinstance(message, str) else Opcode.BINARY
    data = message.encode() if isinstance(message, str) else message
    return Frame(opcode, data, fin=fin).serialize(mask=True)


@given(messages)
def test_what_a_client_sends_is_read_up_to_what_is_too_long(told: list[str | bytes]) -> None:
    heard, rest = take_whole(b"".join(map(sent, told)), LARGEST)
    whole = next((at for at, one in enumerate(told) if len(one) >= LONG), len(told))
    assert heard == told[:whole]
    assert rest[:2] == b"".join(map(sent, told[whole:]))[:2]


@given(messages.filter(bool), st.data())
def test_half_a_frame_is_left(told: list[str | bytes], data: st.DataObject) -> None:
    last = sent(told[-1])
    cut = data.draw(st.integers(0, len(last) - 1))
    heard, rest = take_whole(sent("first") + last[:cut], LARGEST)
    assert heard == ["first"]
    assert rest == last[:cut]


@pytest.mark.parametrize(
    "other",
    [
        sent(b"x", fin=False),
        sent(b"x", opcode=Opcode.CONT),
        sent(b"x", opcode=Opcode.PING),
        sent(b"", opcode=Opcode.CLOSE),
        Frame(Opcode.BINARY, b"not masked").serialize(mask=False),
        b"\xc2\x80\0\0\0\0",
        b"\x83\x80\0\0\0\0",
    ],
    ids=["fragment", "continuation", "ping", "close", "unmasked", "extension bit", "opcode"],
)
def test_everything_else_is_left_and_all_after_it(other: bytes) -> None:
    after = sent("after")
    assert take_whole(sent("before") + other + after, LARGEST) == (["before"], other + after)


def test_a_message_above_the_limit_is_left() -> None:
    frame = sent(b"12345")
    assert take_whole(frame, 4) == ([], frame)
    assert take_whole(frame, 5) == ([b"12345"], b"")


def test_broken_utf_8_is_kept_as_surrogates() -> None:
    data = bytearray(sent(b"\xff!"))
    data[0] = 0x81
    assert take_whole(bytes(data), LARGEST)[0] == ["\udcff!"]


@given(messages)
def test_what_is_framed_is_what_the_library_would_send(told: list[str | bytes]) -> None:
    server = Protocol(SERVER)
    for message in told:
        if isinstance(message, str):
            server.send_text(message.encode())
        else:
            server.send_binary(message)
    assert framed(told) == b"".join(server.data_to_send())
