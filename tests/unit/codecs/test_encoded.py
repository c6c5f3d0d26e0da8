import io
import os
import threading
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
import pytest

from legato.audio import AudioFormat, Codec
from legato.codecs.encoded import KINDS, FileKind, check_rate, kind_named, kind_of, writer_for
from legato.codecs.files import decode
from legato.codecs.g711 import law
from legato.errors import BadAudio, UnsupportedFormat
from tests.unit.codecs.recordings import int16, tone

FORMAT = AudioFormat(16_000)
PCM = tone(440, 16_000, 0.5131)
CONTAINERS = [kind for kind in KINDS if not kind.bare]
BARE = [kind for kind in KINDS if kind.bare]


def name_of(kind: FileKind) -> str:
    return kind.name


def written(kind: FileKind, target: Path | BinaryIO, pcm: bytes = PCM) -> None:
    with writer_for(kind, target, FORMAT) as writer:
        for at in range(0, len(pcm), 960):
            writer.write(pcm[at : at + 960])
        assert writer.samples == len(pcm) // 2


def read_back(data: bytes) -> bytes:
    with decode(io.BytesIO(data), FORMAT) as decoding:
        return b"".join(chunk.pcm for chunk in decoding)


def piped(kind: FileKind) -> bytes:
    reading, writing = os.pipe()
    came: list[bytes] = []

    def read() -> None:
        with os.fdopen(reading, "rb") as pipe:
            came.append(pipe.read())

    reader = threading.Thread(target=read)
    reader.start()
    with os.fdopen(writing, "wb", buffering=0) as pipe:
        written(kind, cast("BinaryIO", pipe))
    reader.join()
    return came[0]


def is_like(pcm: bytes, other: bytes) -> bool:
    size = min(len(pcm), len(other))
    return float(np.corrcoef(int16(pcm[:size]), int16(other[:size]))[0, 1]) > 0.9


@pytest.mark.parametrize("kind", CONTAINERS, ids=name_of)
def test_what_is_written_reads_back_whole(kind: FileKind, tmp_path: Path) -> None:
    path = tmp_path / "x"
    written(kind, path)
    back = read_back(path.read_bytes())
    assert abs(len(back) - len(PCM)) <= (16 if kind.name == "opus" else 0)
    assert is_like(back, PCM)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("kind", CONTAINERS, ids=name_of)
def test_a_pipe_gets_the_same_as_it_comes(kind: FileKind) -> None:
    back = read_back(piped(kind))
    # Without going back, MP3 cannot say how much of its first and last frame counts.
    spare = 6_000 if kind.name == "mp3" else 16
    assert len(PCM) - 16 <= len(back) <= len(PCM) + spare


@pytest.mark.parametrize("kind", BARE, ids=name_of)
def test_bare_samples_have_nothing_around(kind: FileKind, tmp_path: Path) -> None:
    path = tmp_path / "x"
    written(kind, path)
    coded = PCM if kind.codec is Codec.PCM_S16LE else law(kind.codec).encode(PCM)
    assert path.read_bytes() == coded == piped(kind)


@pytest.mark.parametrize("kind", KINDS, ids=name_of)
def test_nothing_said_is_a_file_all_the_same(kind: FileKind, tmp_path: Path) -> None:
    written(kind, tmp_path / "x", b"")
    assert (tmp_path / "x").exists()


@pytest.mark.parametrize("kind", KINDS, ids=name_of)
def test_after_an_error_what_was_there_is_untouched(kind: FileKind, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"before")

    def fail() -> None:
        with writer_for(kind, path, FORMAT) as writer:
            writer.write(PCM)
            writer.write(b"odd")

    with pytest.raises(BadAudio):
        fail()
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("kind", KINDS, ids=name_of)
def test_a_reader_that_leaves_is_a_broken_pipe(kind: FileKind) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    noise = np.random.default_rng(1).integers(-9_000, 9_000, 160_000).astype("<i2").tobytes()
    with os.fdopen(writing, "wb", buffering=0) as pipe, pytest.raises(BrokenPipeError):
        written(kind, cast("BinaryIO", pipe), noise)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("x.wav", "wav"),
        ("x", "wav"),
        ("X.MP3", "mp3"),
        ("x.flac", "flac"),
        ("x.ogg", "opus"),
        ("x.opus", "opus"),
        ("x.ul", "mulaw"),
        ("x.al", "alaw"),
        ("x.raw", "raw"),
    ],
)
def test_a_files_name_means_a_kind(path: str, name: str) -> None:
    assert kind_of(path) is kind_named(name)


def test_what_is_not_written_is_said_with_what_is() -> None:
    with pytest.raises(
        UnsupportedFormat, match=r"x.aac: no file ends in .aac; there are .wav, .mp3"
    ):
        kind_of("x.aac")
    with pytest.raises(UnsupportedFormat, match="'aac' is written; there are wav, wav-mulaw"):
        kind_named("aac")


def test_a_rate_that_a_kind_has_not_is_said() -> None:
    with pytest.raises(UnsupportedFormat, match="opus has no sample rate of 22050 Hz; it has 8000"):
        check_rate(kind_named("opus"), AudioFormat(22_050))
    check_rate(kind_named("flac"), AudioFormat(22_050))


def test_telephones_take_the_two_laws() -> None:
    assert [kind.name for kind in KINDS if kind.telephony] == [
        "wav-mulaw", "wav-alaw", "mulaw", "alaw",
    ]  # fmt: skip


@pytest.mark.parametrize(("name", "tag"), [("wav-alaw", 6), ("wav-mulaw", 7)])
@pytest.mark.parametrize("samples", [7, 8])
def test_a_wav_file_of_telephony_says_so(name: str, tag: int, samples: int, tmp_path: Path) -> None:
    path = tmp_path / "x.wav"
    written(kind_named(name), path, PCM[: 2 * samples])
    data = path.read_bytes()
    assert len(data) == 58 + samples + samples % 2  # chunks have an even size
    assert int.from_bytes(data[4:8], "little") == len(data) - 8
    assert int.from_bytes(data[20:22], "little") == tag
    assert data[38:46] == b"fact" + (4).to_bytes(4, "little")
    assert int.from_bytes(data[46:50], "little") == samples
    assert int.from_bytes(data[54:58], "little") == samples
