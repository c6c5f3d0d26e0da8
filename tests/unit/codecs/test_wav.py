import io
import os
import stat
import struct
import wave
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from legato.audio import AudioFormat
from legato.codecs.wav import WavWriter, header, wav_bytes
from legato.errors import BadAudio
from tests.unit.codecs.recordings import as_binary, noise

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

MONO = AudioFormat(16_000)
STEREO = AudioFormat(48_000, 2)
PCM = noise(1600)


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def as_wave_reads(data: bytes) -> tuple[int, int, int, bytes]:
    with wave.open(io.BytesIO(data)) as file:
        frames = file.readframes(10**9)
        return file.getframerate(), file.getnchannels(), file.getsampwidth(), frames


@pytest.mark.parametrize("pcm_format", [MONO, STEREO])
def test_a_whole_file_is_read_back_by_the_standard_library(pcm_format: AudioFormat) -> None:
    data = wav_bytes(PCM, pcm_format)
    expected = (pcm_format.sample_rate, pcm_format.channels, 2, PCM)
    assert as_wave_reads(data) == expected
    assert struct.unpack_from("<I", data, 4) == (len(data) - 8,)


def test_half_a_sample_makes_no_file() -> None:
    with pytest.raises(BadAudio):
        wav_bytes(bytes(6), STEREO)


@pytest.mark.parametrize("size", [None, 2**32 - 36, 2**40])
def test_a_size_that_the_header_cannot_hold_is_unknown(size: int | None) -> None:
    data = header(MONO, size)
    assert (data[4:8], data[40:44]) == (b"\xff" * 4, b"\xff" * 4)


def test_the_largest_size_that_fits_is_said() -> None:
    assert struct.unpack_from("<I", header(MONO, 2**32 - 38), 40) == (2**32 - 38,)


# Files.


def test_a_file_appears_whole_under_its_name(tmp_path: Path) -> None:
    path = tmp_path / "speech.wav"
    with WavWriter(path, MONO) as writer:
        writer.write(PCM[:640])
        writer.write(b"")
        assert not path.exists()
        writer.write(PCM[640:])
        assert (writer.samples, writer.seconds) == (1600, 0.1)
    assert path.read_bytes() == wav_bytes(PCM, MONO)
    assert left(tmp_path) == ["speech.wav"]


def test_a_file_without_samples_is_still_a_wav(tmp_path: Path) -> None:
    WavWriter(str(tmp_path / "empty.wav"), MONO).close()
    assert (tmp_path / "empty.wav").read_bytes() == wav_bytes(b"", MONO)


@pytest.mark.parametrize("fault", [RuntimeError, KeyboardInterrupt])
def test_an_error_or_ctrl_c_leaves_everything_as_it_was(
    tmp_path: Path, fault: type[BaseException]
) -> None:
    path = tmp_path / "speech.wav"
    path.write_bytes(b"before")

    def interrupted() -> None:
        with WavWriter(path, MONO) as writer:
            writer.write(PCM)
            raise fault

    with pytest.raises(fault):
        interrupted()
    assert path.read_bytes() == b"before"
    assert left(tmp_path) == ["speech.wav"]


def test_half_a_sample_is_refused_and_nothing_of_it_written(tmp_path: Path) -> None:
    path = tmp_path / "speech.wav"
    with WavWriter(path, STEREO) as writer:
        with pytest.raises(BadAudio):
            writer.write(bytes(6))
        writer.write(bytes(8))
    assert path.read_bytes() == wav_bytes(bytes(8), STEREO)


def test_a_closed_writer_takes_nothing_and_closes_again(tmp_path: Path) -> None:
    writer = WavWriter(tmp_path / "speech.wav", MONO)
    writer.close()
    writer.close()
    with pytest.raises(ValueError, match="closed"):
        writer.write(PCM)


def test_an_error_after_closing_takes_the_file_not_away(tmp_path: Path) -> None:
    def late() -> None:
        with WavWriter(tmp_path / "speech.wav", MONO) as writer:
            writer.close()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        late()
    assert left(tmp_path) == ["speech.wav"]


def test_a_link_stays_a_link_and_a_mode_a_mode(tmp_path: Path) -> None:
    real, link = tmp_path / "real.wav", tmp_path / "link.wav"
    real.write_bytes(b"before")
    real.chmod(0o640)
    link.symlink_to(real)
    with WavWriter(link, MONO) as writer:
        writer.write(PCM)
    assert link.is_symlink()
    assert real.read_bytes() == wav_bytes(PCM, MONO)
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_a_new_file_has_the_mode_of_any_other(tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    WavWriter(tmp_path / "speech.wav", MONO).close()
    assert (tmp_path / "speech.wav").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_missing_folder_is_named_as_it_was_given(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "speech.wav"
    with pytest.raises(FileNotFoundError) as raised:
        WavWriter(path, MONO)
    assert raised.value.filename == str(path)


def test_a_folder_is_not_written_over(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        WavWriter(tmp_path, MONO)
    assert left(tmp_path) == []


def test_a_file_that_forbids_writing_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "speech.wav"
    path.write_bytes(b"before")
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everything
    with pytest.raises(PermissionError) as raised:
        WavWriter(path, MONO)
    assert raised.value.filename == str(path)
    assert left(tmp_path) == ["speech.wav"]


def test_a_device_is_written_to_not_replaced() -> None:
    device = Path(os.devnull)
    with WavWriter(device, MONO) as writer:
        writer.write(PCM)
    assert stat.S_ISCHR(device.stat().st_mode)


def test_a_disk_that_fills_up_leaves_nothing(tmp_path: Path) -> None:
    full = Path("/dev/full")
    with pytest.raises(OSError, match="No space left"):
        WavWriter(full, MONO)
    assert full.exists()


def test_a_file_that_cannot_be_put_in_place_is_removed(tmp_path: Path) -> None:
    writer = WavWriter(tmp_path / "speech.wav", MONO)
    (tmp_path / "speech.wav").mkdir()
    with pytest.raises(IsADirectoryError):
        writer.close()
    assert left(tmp_path) == ["speech.wav"]


# Streams.


class Broken(io.BytesIO):
    """A stream that takes a header and then no more, as a pipe whose reader went away."""

    def seekable(self) -> bool:
        return False

    def write(self, data: "ReadableBuffer", /) -> int:
        if self.getvalue():
            raise BrokenPipeError
        return super().write(data)


class Trickle(io.RawIOBase):
    """An unbuffered pipe that takes a hundred bytes at a time."""

    def __init__(self) -> None:
        self.taken = b""

    def writable(self) -> bool:
        return True

    def write(self, data: "ReadableBuffer", /) -> int:
        piece = bytes(memoryview(data)[:100])
        self.taken += piece
        return len(piece)


def test_a_seekable_stream_gets_its_sizes_where_it_stood_and_stays_open() -> None:
    stream = io.BytesIO()
    stream.write(b"prefix")
    with WavWriter(stream, MONO) as writer:
        writer.write(PCM)
    assert stream.getvalue() == b"prefix" + wav_bytes(PCM, MONO)
    assert stream.tell() == len(stream.getvalue())
    assert not stream.closed


def test_a_pipe_gets_unknown_sizes_at_once_and_every_player_reads_it() -> None:
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as heard, os.fdopen(writer, "wb") as stream:
        with WavWriter(stream, MONO) as wav:
            assert heard.read(44) == header(MONO, None)
            wav.write(PCM)
            assert heard.read(len(PCM)) == PCM
        assert not stream.closed
    assert as_wave_reads(header(MONO, None) + PCM) == (16_000, 1, 2, PCM)


def test_a_pipe_that_takes_little_at_a_time_gets_everything() -> None:
    pipe = Trickle()
    with WavWriter(as_binary(pipe), MONO) as writer:
        writer.write(PCM)
    assert pipe.taken == header(MONO, None) + PCM


def test_a_reader_that_went_away_is_a_broken_pipe() -> None:
    reader, descriptor = os.pipe()
    os.close(reader)
    stream = os.fdopen(descriptor, "wb", buffering=0)
    with stream, pytest.raises(BrokenPipeError):
        WavWriter(stream, MONO)


def test_a_reader_that_goes_away_later_is_a_broken_pipe_too() -> None:
    stream = Broken()

    def played() -> None:
        with WavWriter(stream, MONO) as writer:
            writer.write(PCM)

    with pytest.raises(BrokenPipeError):
        played()
    assert stream.getvalue() == header(MONO, None)
    assert not stream.closed


def test_what_is_appended_to_a_file_is_not_patched(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"before")
    with path.open("ab") as stream, WavWriter(stream, MONO) as writer:
        writer.write(PCM)
    assert path.read_bytes() == b"before" + header(MONO, None) + PCM
