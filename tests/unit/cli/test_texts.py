import io
import os
from typing import BinaryIO

import pytest

from legato.cli.texts import piped, portions
from legato.errors import UnsupportedText


class Pipe(io.RawIOBase):
    """Gives one piece at a time."""

    def __init__(self, *pieces: bytes) -> None:
        self._pieces = list(pieces)

    def read(self, size: int = -1, /) -> bytes:
        return self._pieces.pop(0) if self._pieces else b""


def texts(*pieces: bytes) -> list[str]:
    stream: BinaryIO = Pipe(*pieces)  # type: ignore[assignment]  # as much of one as is read
    return list(piped(stream))


def test_text_comes_as_it_is_written() -> None:
    assert texts(b"Hello ", b"there.\n") == ["Hello ", "there.\n"]


def test_a_character_may_be_cut_in_two() -> None:
    assert texts("né".encode()[:2], "né".encode()[2:]) == ["n", "é"]
    assert texts(b"a\xc3", b"\xa9b") == ["a", "éb"]


@pytest.mark.parametrize("pieces", [(b"\xff",), (b"ok ", b"\xc3")])
def test_what_is_not_utf8_is_refused(pieces: tuple[bytes, ...]) -> None:
    with pytest.raises(UnsupportedText, match="not UTF-8"):
        texts(*pieces)


@pytest.mark.parametrize("pieces", [(), (b" \n", b"\t")])
def test_nothing_to_say_is_refused(pieces: tuple[bytes, ...]) -> None:
    with pytest.raises(UnsupportedText, match="no text"):
        texts(*pieces)


def test_a_real_pipe_is_not_waited_for_to_its_end() -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb", buffering=0) as stream:
        source = piped(stream)
        os.write(writing, b"first")
        assert next(source) == "first"
        os.close(writing)
        assert list(source) == []


async def utterances(*parts: str) -> list[str]:
    """What is said, one string for each utterance."""
    said = [""]
    async for piece in portions(parts, lambda: said.append("")):
        said[-1] += piece
    return said


async def test_a_text_that_is_not_long_is_one_utterance() -> None:
    assert await utterances("One. ", "Two.\n\n", "Three.") == ["One. Two.\n\nThree."]


@pytest.mark.parametrize(
    ("unit", "end"),
    [("Word. Word\n\n", "\n\n"), ("Some words. ", ". "), ("word ", " "), ("字。", "。")],
)
@pytest.mark.parametrize("size", [7, 4_096, 100_000])
async def test_a_long_text_ends_utterances_at_the_best_place(
    unit: str, end: str, size: int
) -> None:
    text = unit * (50_000 // len(unit))
    said = await utterances(*(text[at : at + size] for at in range(0, len(text), size)))

    assert len(said) in {3, 4, 5}
    assert max(map(len, said)) <= 20_000
    assert all(one.endswith(end) for one in said[:-1])
    assert "".join(said).split() == text.split()


async def test_white_space_alone_is_no_utterance() -> None:
    assert len(await utterances(f"{'a' * 18_000} ", "\n \n")) == 1
