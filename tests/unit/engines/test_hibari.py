import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from legato.audio import AudioFormat
from legato.engines.hibari import FORMAT, Hibari, bounded, pause_after, trimmed
from legato.errors import EngineUnavailable, UnknownVoice, UnsupportedText
from legato.speech import SynthesisRequest

REQUEST = SynthesisRequest(format=FORMAT, seed=5)


@pytest.fixture(scope="module")
def hibari() -> Iterator[Hibari]:
    engine = Hibari()
    engine.load()
    yield engine
    engine.close()


def speak(hibari: Hibari, *text: str, request: SynthesisRequest = REQUEST) -> bytes:
    return b"".join(chunk.pcm for chunk in hibari.synthesize(request, text))


def seconds(pcm: bytes) -> float:
    return FORMAT.seconds(FORMAT.samples_in(pcm))


def test_an_engine_that_is_not_loaded_says_so() -> None:
    with pytest.raises(EngineUnavailable, match="not loaded"):
        speak(Hibari(), "Hello.")


@pytest.mark.slow
def test_what_is_refused_is_named(hibari: Hibari) -> None:
    with pytest.raises(UnsupportedText, match="你好") as refused:
        speak(hibari, "Hello 你好!")
    assert refused.value.characters == "你好"


@pytest.mark.slow
def test_a_letter_without_a_sound_is_refused_and_not_passed_over(hibari: Hibari) -> None:
    with pytest.raises(UnsupportedText) as refused:
        speak(hibari, "The letter ꞵ.")
    assert refused.value.characters == "ꞵ"


@pytest.mark.slow
def test_a_piece_is_refused_before_any_of_it_is_heard(hibari: Hibari) -> None:
    chunks = hibari.synthesize(REQUEST, ["A first line.\nThe letter ꞵ."])
    with pytest.raises(UnsupportedText):
        next(chunks)


@pytest.mark.slow
@pytest.mark.parametrize("text", ["//1", "See a/994.", "1⅓", "9" * 60])
def test_numbers_that_hibari_alone_passes_over_are_spoken(hibari: Hibari, text: str) -> None:
    assert seconds(speak(hibari, text)) > 0.3


@pytest.mark.slow
@pytest.mark.parametrize("text", ["¹a¹", "*¹x", "^¹j", "⓽⫚", "❶", "²"])
def test_numerals_that_are_no_digits_are_spoken(hibari: Hibari, text: str) -> None:
    assert seconds(speak(hibari, text)) > 0.3


@pytest.mark.slow
def test_a_text_that_hibari_trips_over_is_refused(hibari: Hibari) -> None:
    with pytest.raises(UnsupportedText, match="cannot read") as refused:
        speak(hibari, ". \U0001cf9e\u0130 \u2924")
    assert refused.value.characters == "\u0130"


@pytest.mark.slow
def test_a_code_that_is_no_character_is_refused(hibari: Hibari) -> None:
    with pytest.raises(UnsupportedText) as refused:
        speak(hibari, "Hello \u00e9\U0002a6e0")
    assert refused.value.characters == "\U0002a6e0"


@pytest.mark.slow
def test_onnx_runtime_reports_to_nobody(tmp_path: Path) -> None:
    code = "from legato.engines.hibari import Hibari; Hibari().load()"
    folders = {"HOME": str(tmp_path), "TMPDIR": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    environment = {**os.environ, **folders}
    environment.pop("ORT_DISABLE_TELEMETRY", None)
    subprocess.run([sys.executable, "-B", "-c", code], env=environment, check=True, timeout=60)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_relative_link_is_not_taken_for_phonemes(hibari: Hibari) -> None:
    assert speak(hibari, "[docs](/docs/)") == speak(hibari, "docs")


@pytest.mark.slow
def test_the_audio_of_a_piece_depends_on_text_and_seed_alone(hibari: Hibari) -> None:
    alone = speak(hibari, "Good night.")
    assert speak(hibari, "Good morning.", "Good night.").endswith(alone)
    other = SynthesisRequest(format=FORMAT, seed=6)
    assert speak(hibari, "Good night.", request=other) != alone


@pytest.mark.slow
def test_a_second_engine_makes_the_same_audio(hibari: Hibari) -> None:
    second = Hibari()
    second.load()
    assert second.info.version == hibari.info.version
    assert speak(second, "Good night.") == speak(hibari, "Good night.")


@pytest.mark.slow
def test_the_version_tells_apart_what_rounds_otherwise(hibari: Hibari) -> None:
    assert Hibari().info.version == "0.2.1"
    assert hibari.info.version.startswith("0.2.1+")


@pytest.mark.slow
def test_the_listener_does_not_wait_for_silence(hibari: Hibari) -> None:
    audio = np.frombuffer(speak(hibari, "Hello there."), "<i2")
    assert abs(audio[: FORMAT.samples(0.1)]).max() > 100


@pytest.mark.slow
def test_a_comma_makes_a_shorter_pause_than_a_full_stop(hibari: Hibari) -> None:
    def rest(text: str) -> int:
        audio = np.frombuffer(speak(hibari, text), "<i2")
        return len(audio) - int(np.flatnonzero(abs(audio) > 50)[-1])

    assert rest("When I came home,") < rest("When I came home.") <= FORMAT.samples(0.4)


@pytest.mark.slow
def test_an_unknown_voice_names_those_at_hand(hibari: Hibari) -> None:
    request = SynthesisRequest(format=FORMAT, voice="nobody")
    with pytest.raises(UnknownVoice, match=r"'nobody'.*heart"):
        speak(hibari, "Hello.", request=request)


@pytest.mark.slow
def test_a_broken_off_call_gives_its_turn_back() -> None:
    hibari = Hibari(parallel=1)
    hibari.load()
    chunks = hibari.synthesize(REQUEST, ["Hello there."] * 2)
    next(chunks)
    spoken: list[bytes] = []
    thread = threading.Thread(target=lambda: spoken.append(speak(hibari, "Good night.")))
    thread.start()
    thread.join(20)
    assert spoken


@pytest.mark.slow
def test_it_speaks_at_24_kilohertz(hibari: Hibari) -> None:
    assert {chunk.format for chunk in hibari.synthesize(REQUEST, ["Hi."])} == {AudioFormat(24_000)}


def test_phonemes_are_cut_after_sentences_then_clauses_then_words() -> None:
    assert list(bounded("short.")) == ["short."]
    assert list(bounded("")) == []
    sentence = "a" * 100 + ". " + "b" * 90 + ", " + "c" * 50
    assert list(bounded(sentence)) == ["a" * 100 + ".", "b" * 90 + ", " + "c" * 50]
    clause = "a" * 150 + ", " + "b" * 100
    assert list(bounded(clause)) == ["a" * 150 + ",", "b" * 100]
    words = " ".join(["abcde"] * 60)
    assert " ".join(bounded(words)) == words
    assert max(map(len, bounded(words))) <= 200
    assert list(map(len, bounded("a" * 500))) == [200, 200, 100]


def test_a_cut_too_early_to_be_worth_it_is_not_made() -> None:
    first, *_ = bounded("Hi. " + "word " * 60)
    assert len(first) > 150


@pytest.mark.parametrize(
    ("phonemes", "steps"), [("hi.", 35), ("hi?”", 35), ("hi,", 15), ("hi", 6), ("", 6), (")", 6)]
)
def test_the_pause_follows_the_punctuation(phonemes: str, steps: int) -> None:
    assert pause_after(phonemes) == steps


def test_silence_around_a_piece_is_cut_short() -> None:
    step = FORMAT.samples(0.01)
    audio = np.zeros(100 * step, np.float32)
    audio[30 * step : 50 * step] = 0.5
    cut = trimmed(audio, 10)
    assert len(cut) == (4 + 20 + 10) * step
    assert cut[4 * step] == 0.5


def test_a_piece_of_silence_alone_is_a_pause() -> None:
    assert len(trimmed(np.zeros(24_000, np.float32), 10)) == 14 * FORMAT.samples(0.01)
    assert len(trimmed(np.zeros(0, np.float32), 10)) == 0
