import struct
import wave
from pathlib import Path

import pytest

from legato.bench.clips import SAMPLE_RATE, hush, librivox, without_tail

LOUD = struct.pack("<h", 8000) * 1600
QUIET = struct.pack("<h", 20) * 1600


def record(path: Path, pcm: bytes, *, sample_rate: int = SAMPLE_RATE) -> None:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(sample_rate)
        file.writeframes(pcm)


def test_clips_are_read_with_what_is_said_in_them(tmp_path: Path) -> None:
    (tmp_path / "transcription").write_text(
        "<s> he was not ill </s> (sense_64kb-0880)\nnonsense\n"
        "<s> and so on </s> (sense_64kb-0890)\n"
    )
    record(tmp_path / "sense_64kb-0880.wav", LOUD)
    record(tmp_path / "sense_64kb-0890.wav", QUIET)
    first, second = librivox(tmp_path)
    assert (first.name, first.text, first.pcm) == ("0880", "he was not ill", LOUD)
    assert (second.name, second.text) == ("0890", "and so on")
    assert first.seconds == 0.1


def test_without_the_package_there_are_no_clips(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        librivox(tmp_path)


def test_a_clip_of_another_rate_is_refused(tmp_path: Path) -> None:
    (tmp_path / "transcription").write_text("<s> he </s> (a-1)\n")
    record(tmp_path / "a-1.wav", LOUD, sample_rate=8000)
    with pytest.raises(ValueError, match=r"a-1\.wav is not 16 kHz"):
        librivox(tmp_path)


def test_the_silence_after_speech_is_cut_off() -> None:
    assert without_tail(QUIET + LOUD + QUIET * 3) == QUIET + LOUD


def test_silence_alone_is_cut_off_whole() -> None:
    assert without_tail(QUIET) == b""


def test_a_hush_is_faint_and_always_the_same() -> None:
    pcm = hush(0.5)
    samples = struct.unpack(f"<{SAMPLE_RATE // 2}h", pcm)
    assert 0 < max(map(abs, samples)) <= 8
    assert hush(0.5) == pcm
