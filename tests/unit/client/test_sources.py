import io
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from pathlib import Path

import pytest

from legato.audio import AudioChunk, AudioFormat
from legato.client.sources import AudioSource, Recording, TextSource, check_text, pieces
from legato.codecs.wav import wav_bytes
from legato.errors import BadAudio

WIDE = AudioFormat(16_000)
NARROW = AudioFormat(8_000, 2)
PCM = bytes(range(200)) * 16


async def parts(*items: str) -> AsyncIterator[str]:
    for item in items:
        yield item


async def read(audio: AudioSource, audio_format: AudioFormat = WIDE) -> bytes:
    async with aclosing(Recording(audio, audio_format).pcm()) as runs:
        return b"".join([run async for run in runs])


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: "whole", ["whole"]),
        (lambda: ["in", "a list"], ["in", "a list"]),
        (lambda: iter(["one", "by one"]), ["one", "by one"]),
        (lambda: parts("as it", "comes"), ["as it", "comes"]),
    ],
)
async def test_text_comes_piece_by_piece(make: object, expected: list[str]) -> None:
    text: TextSource = make()  # type: ignore[operator]  # a test's table

    async with aclosing(pieces(text)) as source:
        assert [piece async for piece in source] == expected


async def test_pcm_passes_as_it_is() -> None:
    async def live() -> AsyncIterator[bytes]:
        yield PCM[:500]
        yield PCM[500:]

    assert await read(PCM) == PCM
    assert await read(bytearray(PCM)) == PCM  # type: ignore[arg-type]  # bytes in another coat
    assert await read([PCM[:7], PCM[7:]]) == PCM
    assert await read(live()) == PCM
    assert await read([AudioChunk(PCM, WIDE)]) == PCM


async def test_chunks_of_another_format_are_resampled_and_mixed() -> None:
    chunks = [AudioChunk(PCM[:1600], NARROW), AudioChunk(PCM[1600:], NARROW)]

    converted = await read(chunks)

    assert len(converted) == len(PCM)  # twice the rate, half the channels
    assert converted == await read([AudioChunk(PCM, NARROW)])


async def test_a_format_that_changes_half_way_loses_nothing() -> None:
    def mixed() -> Iterator[bytes | AudioChunk]:
        yield AudioChunk(PCM, NARROW)
        yield AudioChunk(PCM, WIDE)
        yield AudioChunk(PCM, AudioFormat(32_000))

    assert len(await read(mixed())) == 2 * len(PCM) + len(PCM) // 2


async def test_files_are_decoded_by_path_or_stream(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    path.write_bytes(wav_bytes(PCM, WIDE))

    assert await read(path) == await read(str(path)) == PCM
    assert await read(io.BytesIO(path.read_bytes())) == PCM


async def test_a_cut_file_is_told(tmp_path: Path) -> None:
    path = tmp_path / "cut.wav"
    path.write_bytes(wav_bytes(bytes(64_000), WIDE)[:32_000])
    recording = Recording(path, WIDE)

    async for _ in recording.pcm():
        pass

    assert recording.warning is not None
    assert "is cut off" in recording.warning


async def test_what_is_no_file_is_bad_audio(tmp_path: Path) -> None:
    with pytest.raises(BadAudio, match="no such file"):
        await read(tmp_path / "missing.wav")


@pytest.mark.parametrize("text", [None, 5, b"bytes", bytearray(b"bytes")])
def test_what_is_no_text_is_refused_by_name(text: object) -> None:
    with pytest.raises(TypeError, match=r"text must be a str.*, not (NoneType|int|byte)"):
        check_text(text)


async def test_a_piece_that_is_no_text_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match=r"text must be a str.*; one of it is int"):
        async with aclosing(pieces(["a", 5])) as source:  # type: ignore[list-item]  # what is tested
            _ = [piece async for piece in source]
