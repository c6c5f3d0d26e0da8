import io
import struct
from collections.abc import Callable

import pytest

from legato.audio import AudioFormat
from legato.codecs.riff import MAX_CHUNKS, WavHeader, enter
from legato.codecs.source import Source
from legato.codecs.wav import wav_bytes
from tests.unit.codecs.recordings import Pipe, as_binary, encoded, noise, riff

STEREO = AudioFormat(48_000, 2)
PCM = noise(1600)
FMT = riff(b"")[12:36]


def file(data: bytes) -> Source:
    return Source(io.BytesIO(data))


def pipe(data: bytes) -> Source:
    return Source(as_binary(Pipe(data)))


either = pytest.mark.parametrize("source", [file, pipe])
Opener = Callable[[bytes], Source]


def chunk(kind: bytes, content: bytes) -> bytes:
    return kind + struct.pack("<I", len(content)) + content + bytes(len(content) % 2)


def wave(*chunks: bytes, magic: bytes = b"RIFF") -> bytes:
    return magic + bytes(4) + b"WAVE" + b"".join(chunks)


def window(source: Source) -> bytes:
    return b"".join(iter(lambda: source.read(1000), b""))


@either
def test_pcm_is_shown_without_its_header(source: Opener) -> None:
    opened = source(wav_bytes(PCM, STEREO))
    head = enter(opened)
    assert head == WavHeader(1, 2, 48_000, 16, data_bytes=len(PCM))
    assert (head.pcm_format, head.seconds) == (STEREO, STEREO.seconds(800))
    assert window(opened) == PCM


@either
def test_other_chunks_are_left_out_with_their_padding(source: Opener) -> None:
    texts = chunk(b"LIST", b"INFO and three texts.")
    opened = source(wave(texts, FMT, chunk(b"junk", bytes(70_000)), chunk(b"data", PCM), texts))
    assert enter(opened) is not None
    assert window(opened) == PCM


@either
def test_other_codecs_are_shown_as_a_file_of_format_and_samples_only(source: Opener) -> None:
    texts = chunk(b"LIST", b"INFO and three texts.")
    fmt = chunk(b"fmt ", struct.pack("<HHIIHH", 7, 1, 8_000, 8_000, 1, 8) + b"\0")
    opened = source(wave(texts, fmt, chunk(b"data", PCM), texts))
    head = enter(opened)
    assert head == WavHeader(7, 1, 8_000, 8, data_bytes=len(PCM))
    shown = window(opened)
    assert shown[8:] == wave(fmt, chunk(b"data", PCM))[8:]
    if opened.seekable():
        assert opened.seek(0, io.SEEK_END) == len(shown)
        for at in (0, 10, len(shown) - len(PCM) - 1, len(shown) - len(PCM), len(shown) - 5):
            assert opened.seek(at) == at
            assert window(opened) == shown[at:]


@pytest.mark.parametrize("declared", [0, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF])
def test_sizes_that_writers_to_a_pipe_put_down_are_unknown(declared: int) -> None:
    opened = pipe(riff(PCM, declared_bytes=declared))
    head = enter(opened)
    assert head is not None
    assert (head.data_bytes, head.seconds) == (None, None)
    assert window(opened) == PCM


def test_the_long_size_of_rf64_counts() -> None:
    sizes = chunk(b"ds64", struct.pack("<QQQI", 0, len(PCM), 800, 0))
    data = b"data" + b"\xff" * 4 + PCM
    opened = file(wave(sizes, FMT, data, chunk(b"LIST", b"texts."), magic=b"RF64"))
    head = enter(opened)
    assert head is not None
    assert head.data_bytes == len(PCM)
    assert window(opened) == PCM


def test_an_unknown_size_of_another_codec_stays_unknown() -> None:
    opened = pipe(riff(PCM, tag=3, bits=32, declared_bytes=0))
    assert enter(opened) is not None
    assert window(opened)[40:44] == b"\xff" * 4


def test_an_extensible_header_shows_its_real_codec() -> None:
    plain = struct.pack("<HHIIHH", 0xFFFE, 2, 48_000, 192_000, 4, 16)
    guid = struct.pack("<HHIH", 22, 16, 3, 1) + bytes.fromhex("000000001000800000aa00389b71")
    head = enter(file(wave(chunk(b"fmt ", plain + guid), chunk(b"data", PCM))))
    assert head is not None
    assert (head.tag, head.pcm_format) == (1, STEREO)


@pytest.mark.parametrize(
    ("data", "seconds"),
    [
        (riff(PCM, tag=3, bits=32), 800 / 16_000),
        (riff(PCM, rate_hz=96_000), 1600 / 96_000),
        (riff(PCM, channels=3), 3200 / 96_000),
        (riff(PCM, tag=2, bits=4), None),
        (riff(PCM, rate_hz=0), None),
        (riff(PCM, channels=0), None),
    ],
)
def test_what_legato_does_not_use_is_no_pcm_format(data: bytes, seconds: float | None) -> None:
    head = enter(file(data))
    assert head is not None
    assert head.pcm_format is None
    assert head.seconds == seconds


@either
@pytest.mark.parametrize(
    "data",
    [
        b"RIFF",
        b"RIFF\0\0\0\0AVI ",
        encoded("flac", "flac", seconds=0.1),
    ],
)
def test_what_is_no_wav_is_left_as_it_was(data: bytes, source: Opener) -> None:
    opened = source(data)
    assert enter(opened) is None
    assert window(opened) == data


@either
@pytest.mark.parametrize(
    "data",
    [
        riff(PCM)[:30],
        riff(PCM)[:43],
        wave(chunk(b"data", PCM), FMT),
        wave(chunk(b"fmt ", bytes(4)), chunk(b"data", PCM)),
        wave(chunk(b"fmt ", bytes(2000)), chunk(b"data", PCM)),
        wave(FMT, b"LIST\xf0\xff\xff\xff", chunk(b"data", PCM)),
        wave(*[chunk(b"junk", b"")] * MAX_CHUNKS, FMT, chunk(b"data", PCM)),
    ],
)
def test_a_wav_without_format_or_samples_is_none(data: bytes, source: Opener) -> None:
    assert enter(source(data)) is None
