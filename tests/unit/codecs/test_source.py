import io
import os
from pathlib import Path

import pytest

from legato.codecs import source as source_module
from legato.codecs.source import HEAD_BYTES, Source
from legato.errors import BadAudio
from tests.unit.codecs.recordings import Pipe, as_binary, id3, noise

DATA = noise(10_000)


def drained(source: Source, size: int = 700) -> bytes:
    return b"".join(iter(lambda: source.read(size), b""))


def both(data: bytes) -> list[Source]:
    """The same bytes as a file and as a pipe."""
    return [Source(io.BytesIO(data)), Source(as_binary(Pipe(data)))]


@pytest.mark.parametrize("kind", [0, 1])
def test_all_bytes_come_once_and_in_order_after_a_look_at_the_head(kind: int) -> None:
    source = both(DATA)[kind]
    assert source.head() == DATA[:HEAD_BYTES]
    assert source.head() == DATA[:HEAD_BYTES]
    assert drained(source) == DATA
    assert source.tell() == len(DATA)


def test_a_file_is_opened_by_path_and_closed(tmp_path: Path) -> None:
    path = tmp_path / "speech.wav"
    path.write_bytes(DATA)
    source = Source(path)
    assert (source.label, source.name, source.seekable()) == (str(path), "input.wav", True)
    assert drained(source) == DATA
    source.close()
    assert source.read(1) == b""
    assert isinstance(source.fault, ValueError)  # of a closed file


def test_a_stream_is_read_from_where_it_stands_and_stays_open() -> None:
    stream = io.BytesIO(b"prefix" + DATA)
    stream.seek(6)
    source = Source(stream)
    assert source.label == "the input"
    assert drained(source) == DATA
    assert source.seek(2) == 2
    assert source.read(4) == DATA[2:6]
    source.close()
    assert not stream.closed


def test_a_stream_is_called_by_its_name() -> None:
    stream = io.BytesIO(DATA)
    stream.name = "<stdin>"
    assert Source(stream).label == "standard input"
    stream.name = "memo.mp3"
    stream.seek(0)
    assert Source(stream).label == "memo.mp3"


def test_a_descriptor_s_number_is_no_name() -> None:
    reader, writer = os.pipe()
    os.write(writer, b"sound")
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        source = Source(stream)
        assert (source.label, source.seekable()) == ("the input", False)
        assert drained(source) == b"sound"


def test_a_path_never_reaches_ffmpeg(tmp_path: Path) -> None:
    path = tmp_path / "concat:a|b%d.png"
    path.write_bytes(DATA)
    source = Source(path)
    assert source.name == "input.png"
    source.close()


def test_what_is_there_is_given_rather_than_waited_for() -> None:
    reader, writer = os.pipe()
    os.write(writer, bytes(HEAD_BYTES))
    with os.fdopen(reader, "rb") as stream:
        source = Source(stream)
        assert source.read(HEAD_BYTES) == bytes(HEAD_BYTES)
        os.write(writer, b"now")
        assert source.read(32_768) == b"now"
        os.close(writer)


# Seeking.


def test_seeking_goes_to_the_byte() -> None:
    source = both(DATA)[0]
    assert source.seek(100) == 100
    assert source.read(5) == DATA[100:105]
    assert source.seek(-5, os.SEEK_CUR) == 100
    assert source.seek(-10, os.SEEK_END) == len(DATA) - 10
    assert drained(source) == DATA[-10:]


def test_nobody_seeks_before_the_start() -> None:
    source = both(DATA)[0]
    assert source.seek(-1) < 0
    assert (source.read(4), source.fault) == (DATA[:4], None)


@pytest.mark.parametrize("kind", [0, 1])
def test_a_window_hides_what_is_around_it(kind: int) -> None:
    source = both(DATA)[kind]
    source.confine(1000, 5000)
    assert source.tell() == 0
    assert drained(source) == DATA[1000:6000]


def test_seeking_stays_inside_the_window() -> None:
    source = both(DATA)[0]
    source.confine(1000, 5000)
    assert source.seek(0, os.SEEK_END) == 5000
    assert source.read(1) == b""
    assert source.seek(0) == 0
    assert source.read(4) == DATA[1000:1004]
    source.confine(0, 10**9)
    assert source.seek(0, os.SEEK_END) == len(DATA) - 1004


def test_a_window_beyond_the_end_of_a_pipe_is_empty() -> None:
    source = both(DATA)[1]
    source.confine(10**6, None)
    assert source.read(1) == b""


# ID3 tags.


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize("footer", [False, True])
@pytest.mark.parametrize("size", [0, 100, 300_000])
def test_id3_tags_are_passed_over(kind: int, footer: bool, size: int) -> None:
    source = both(id3(size, footer=footer) + id3(20) + DATA)[kind]
    assert source.head() == DATA[:HEAD_BYTES]
    assert drained(source) == DATA


@pytest.mark.parametrize("data", [b"ID3", b"ID3\4\0\0\xff\0\0\0 and so on"])
def test_what_only_looks_like_a_tag_is_data(data: bytes) -> None:
    assert drained(both(data)[1]) == data


@pytest.mark.parametrize("kind", [io.BytesIO, Pipe])
def test_a_file_that_ends_inside_its_tag_says_so(kind: type[io.BytesIO]) -> None:
    with pytest.raises(BadAudio, match="ends inside its ID3 tag"):
        Source(kind(id3(5000)[:2000]))


# Pipes that have to be read backwards.


def test_a_spooled_pipe_can_be_read_backwards() -> None:
    pipe = Pipe(DATA)
    source = Source(as_binary(pipe))
    source.head()
    source.spool()
    assert source.seekable()
    assert source.seek(-4, os.SEEK_END) == len(DATA) - 4
    assert source.read(9) == DATA[-4:]
    assert source.seek(0) == 0
    assert drained(source) == DATA
    source.close()
    assert not pipe.closed


def test_a_pipe_is_not_spooled_without_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_module, "MAX_SPOOL_BYTES", 10_000)
    source = both(DATA)[1]
    with pytest.raises(BadAudio, match="too much for a pipe"):
        source.spool()


def test_a_spooled_pipe_that_fails_says_so() -> None:
    source = Source(as_binary(Pipe(DATA, fault=OSError(5, "Input/output error"))))
    with pytest.raises(OSError, match="Input/output error"):
        source.spool()


# What cannot be read.


@pytest.mark.parametrize("fault", [OSError(5, "Input/output error"), KeyboardInterrupt()])
def test_ffmpeg_sees_the_end_where_reading_fails_and_the_cause_is_kept(
    fault: BaseException,
) -> None:
    source = Source(as_binary(Pipe(DATA, fault=fault)))
    assert drained(source) == DATA
    assert source.fault is fault
    assert source.read(1) == b""


class Stuck(io.BytesIO):
    """A file on a disk that fails to seek after the first time."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.failing = False

    def seek(self, offset: int, whence: int = 0, /) -> int:
        if self.failing:
            raise OSError(5, "Input/output error")
        return super().seek(offset, whence)


def test_a_seek_that_fails_is_kept_as_the_cause() -> None:
    stream = Stuck(DATA)
    source = Source(stream)
    stream.failing = True
    assert source.seek(10) < 0
    assert isinstance(source.fault, OSError)


@pytest.mark.parametrize("kind", [io.BytesIO, Pipe])
def test_nothing_at_all_is_called_empty(kind: type[io.BytesIO]) -> None:
    with pytest.raises(BadAudio, match=r"^the input: is empty \(0 bytes\)$"):
        Source(kind(b""))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadAudio, match=r"/gone\.wav: no such file$") as raised:
        Source(tmp_path / "gone.wav")
    assert isinstance(raised.value.__cause__, FileNotFoundError)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(BadAudio, match=r"is a directory, not a file$"):
        Source(tmp_path)


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (PermissionError(13, "Permission denied"), "permission denied"),
        (OSError(24, "Too many open files"), "cannot be opened: Too many open files"),
        (OSError("odd"), "cannot be opened: odd"),
    ],
)
def test_a_file_that_does_not_open_says_why(
    monkeypatch: pytest.MonkeyPatch, fault: OSError, says: str
) -> None:
    def refuse(*_: object) -> None:
        raise fault

    monkeypatch.setattr(Path, "open", refuse)  # root may read everything
    with pytest.raises(BadAudio, match=f"^speech.wav: {says}$"):
        Source("speech.wav")


def test_a_name_that_no_file_can_have_is_refused() -> None:
    with pytest.raises(BadAudio, match=r"^'a\\x00b': is no file name"):
        Source("a\0b")


@pytest.mark.parametrize("fault", [OSError(5, "Input/output error"), OSError("Input/output error")])
def test_a_stream_that_fails_at_once_says_why(fault: OSError) -> None:
    with pytest.raises(BadAudio, match="cannot be read: Input/output error"):
        Source(as_binary(Pipe(b"", fault=fault)))
