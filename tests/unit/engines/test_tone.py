from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from legato.audio import AudioChunk, AudioFormat
from legato.engines.tone import ToneRecognizer, ToneSynthesizer, tone, word
from legato.errors import BadAudio, UnknownVoice, UnsupportedFormat
from legato.speech import RecognitionRequest, SynthesisRequest, Transcript

MONO = AudioFormat(16_000)
FRAME = MONO.frame_bytes(0.02)


def speak(*text: str, pcm: AudioFormat = MONO, speed: float = 1.0) -> bytes:
    request = SynthesisRequest(format=pcm, speed=speed)
    return b"".join(chunk.pcm for chunk in ToneSynthesizer().synthesize(request, text))


def write(audio: bytes, pcm: AudioFormat = MONO, chunk: int = 3_200) -> list[Transcript]:
    chunks = [
        AudioChunk(audio[at : at + chunk], pcm, at // pcm.sample_bytes)
        for at in range(0, len(audio), chunk)
    ]
    return list(ToneRecognizer().recognize(RecognitionRequest(format=pcm), chunks))


def text_of(audio: bytes, pcm: AudioFormat = MONO) -> str:
    return " | ".join(result.text for result in write(audio, pcm) if result.final)


def noise(seconds: float, pcm: AudioFormat = MONO, seed: int = 1) -> bytes:
    samples = pcm.samples(seconds) * pcm.channels
    return np.random.default_rng(seed).integers(-9, 9, samples, "<i2").tobytes()


def test_the_audio_of_a_text_is_that_of_its_pieces() -> None:
    assert speak("ab", "c") == speak("abc") == speak("a") + speak("b") + speak("c")


def test_each_character_has_a_tone_of_fifty_milliseconds() -> None:
    assert len(speak("a")) == MONO.frame_bytes(0.05)
    assert len({speak(character) for character in "abcdefgh"}) == 8


def test_white_space_is_silent() -> None:
    assert speak(" \n") == bytes(MONO.frame_bytes(0.1))


def test_speed_shortens_the_tones() -> None:
    assert len(speak("a", speed=2.0)) == len(speak("a")) // 2


@pytest.mark.parametrize("rate", [8_000, 11_025, 22_050, 48_000])
@pytest.mark.parametrize("channels", [1, 2])
def test_a_tone_is_made_in_any_format(rate: int, channels: int) -> None:
    pcm = AudioFormat(rate, channels)
    samples = np.frombuffer(tone("a", pcm, 0.05), "<i2").reshape(-1, channels)
    assert len(samples) == pcm.samples(0.05)
    assert (samples[:, :1] == samples).all()
    assert abs(samples).max() > 5_000
    assert abs(samples[[0, -1]]).max() < 500


def test_a_voice_that_is_not_there_is_refused() -> None:
    request = SynthesisRequest(format=MONO, voice="heart")
    with pytest.raises(UnknownVoice, match="'heart'"):
        list(ToneSynthesizer().synthesize(request, ["a"]))


def test_a_partial_comes_every_fifth_of_a_second_and_a_final_every_second() -> None:
    results = write(noise(2.0))
    assert [result.final for result in results] == [False, False, False, False, True] * 2
    assert [result.end for result in results] == list(range(3_200, 32_001, 3_200))


def test_partials_grow_into_their_final() -> None:
    results = write(noise(1.0))
    for shorter, longer in pairwise(results):
        assert longer.text.startswith(shorter.text + " ")


def test_words_carry_their_exact_times() -> None:
    (final,) = [result for result in write(noise(1.5))[5:] if result.final]
    assert [(w.start, w.end) for w in final.words] == [(1.0, 1.2), (1.2, 1.4), (1.4, 1.5)]
    assert final.text == " ".join(w.text for w in final.words)


def test_the_end_of_the_audio_makes_the_rest_final() -> None:
    results = write(noise(0.3))
    assert results[-1].final
    assert results[-1].end == 4_800


def test_a_rest_of_whole_words_becomes_final_too() -> None:
    results = write(noise(0.4))
    assert [result.final for result in results] == [False, False, True]
    assert results[1].text == results[2].text


def test_less_than_a_frame_is_a_word_as_well() -> None:
    (final,) = write(noise(0.01))
    assert final.final
    assert final.end == 160


def test_no_audio_is_no_text() -> None:
    assert write(b"") == []


def test_the_size_of_chunks_does_not_matter() -> None:
    audio = noise(1.3)
    assert write(audio, chunk=322) == write(audio, chunk=10**6)


def test_a_fresh_start_after_a_final_gives_the_same_later_text() -> None:
    audio = noise(2.5)
    assert text_of(audio).split(" | ")[1:] == text_of(audio[32_000:]).split(" | ")


@given(st.integers(0, 49), st.sampled_from(["lost", "doubled", "altered"]))
def test_one_frame_lost_doubled_or_altered_changes_the_text(frame: int, fault: str) -> None:
    audio = noise(1.0)
    head, hit, tail = audio[: frame * FRAME], audio[frame * FRAME :][:FRAME], audio[frame * FRAME :]
    tail = tail[FRAME:]
    broken = {
        "lost": head + tail,
        "doubled": head + hit + hit + tail,
        "altered": head + bytes([hit[0] ^ 1]) + hit[1:] + tail,
    }
    assert text_of(broken[fault]) != text_of(audio)


@pytest.mark.parametrize("frames", [50, 73, 100])
def test_one_frame_of_silence_lost_changes_the_text(frames: int) -> None:
    assert text_of(bytes(frames * FRAME)) != text_of(bytes((frames - 1) * FRAME))


def test_stereo_counts_samples_per_channel() -> None:
    stereo = AudioFormat(22_050, 2)
    results = write(noise(1.0, stereo), stereo, chunk=4_000)
    assert results[-1].end == 22_050


def test_audio_in_another_format_is_refused() -> None:
    request = RecognitionRequest(format=MONO)
    chunk = AudioChunk(bytes(640), AudioFormat(8_000))
    with pytest.raises(UnsupportedFormat):
        list(ToneRecognizer().recognize(request, [chunk]))


def test_half_a_sample_is_refused() -> None:
    request = RecognitionRequest(format=MONO)
    with pytest.raises(BadAudio):
        list(ToneRecognizer().recognize(request, [AudioChunk(bytes(3), MONO)]))


def test_a_word_spells_twenty_four_bits() -> None:
    assert word(bytes(3)) == "babababa"
    assert word(b"\xff\xff\xff") == "zozozozo"
    assert word(b"\x00\x00\x01") == "babababe"
