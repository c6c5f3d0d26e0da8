from hypothesis import given
from hypothesis import strategies as st

from legato.client.framing import Framer


def test_frames_are_of_one_size_and_the_rest_comes_at_the_end() -> None:
    framer = Framer(4)

    assert list(framer.push(b"abcdefghij")) == [b"abcd", b"efgh"]
    assert list(framer.push(b"k")) == []
    assert list(framer.push(b"lm")) == [b"ijkl"]
    assert (framer.flush(), framer.flush()) == (b"m", b"")


@given(st.lists(st.binary(max_size=50)), st.integers(1, 20))
def test_no_byte_is_lost_or_moved(chunks: list[bytes], size: int) -> None:
    framer = Framer(size)

    frames = [frame for chunk in chunks for frame in framer.push(chunk)]

    assert {len(frame) for frame in frames} <= {size}
    assert b"".join(frames) + framer.flush() == b"".join(chunks)
