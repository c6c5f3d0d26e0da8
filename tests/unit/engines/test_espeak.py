import subprocess
import sys

import pytest

from legato.audio import AudioFormat
from legato.engines.espeak import Espeak, bounded, voice_for
from legato.errors import EngineUnavailable, UnknownVoice, UnsupportedText
from legato.speech import SynthesisRequest
from legato.speech.scripts import Script

FORMAT = AudioFormat(22_050)


def request(
    *, voice: str | None = None, language: str | None = None, speed: float = 1.0
) -> SynthesisRequest:
    return SynthesisRequest(format=FORMAT, voice=voice, language=language, speed=speed)


def seconds(text: str, wanted: SynthesisRequest | None = None) -> float:
    engine = Espeak()
    engine.load()
    return sum(chunk.duration for chunk in engine.synthesize(wanted or request(), [text]))


def test_a_voice_is_chosen_by_name_or_language() -> None:
    assert voice_for(request(voice="yue")) == "yue"
    assert voice_for(request(language="de")) == "de"
    assert voice_for(request(language="pt-PT")) == "pt-br"
    assert voice_for(request(language="en-GB")) == "en"
    assert voice_for(request(language="en")) == "en-us"
    assert voice_for(request(language="zh")) == "cmn"
    assert voice_for(request(language="tlh")) is None
    assert voice_for(request()) is None


def test_an_unknown_voice_is_refused() -> None:
    with pytest.raises(UnknownVoice, match=r"'heart'.*cmn"):
        voice_for(request(voice="heart"))


def test_a_run_is_cut_at_white_space_or_punctuation() -> None:
    words = "word " * 100
    parts = [part for _, part in bounded((Script.LATIN, words))]
    assert "".join(parts) == words
    assert max(map(len, parts)) <= 300
    assert all(part.endswith(" ") for part in parts)
    chinese = [part for _, part in bounded((Script.HAN, "今天天气很好，" * 60))]
    assert all(part.endswith("，") for part in chinese)
    assert [len(part) for _, part in bounded((Script.HAN, "好" * 700))] == [300, 300, 100]


def test_an_engine_that_is_not_loaded_says_so() -> None:
    with pytest.raises(EngineUnavailable, match="not loaded"):
        list(Espeak().synthesize(request(), ["Hello."]))


def test_a_text_that_makes_no_sound_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class SilentLibrary:
        version = "1"

        def speak(self, text: str, *, voice: str, speed: float, pause: bool) -> bytes:
            return b""

    monkeypatch.setattr("legato.engines.espeak.library", SilentLibrary)
    engine = Espeak()
    engine.load()
    with pytest.raises(UnsupportedText, match="no sound") as refused:
        list(engine.synthesize(request(), ["abba"]))
    assert refused.value.characters == "ab"


@pytest.mark.slow
@pytest.mark.requires("espeak-ng")
class TestLoaded:
    @pytest.mark.parametrize(
        "text",
        [
            "Hello.",
            "你好，世界。",
            "こんにちは",
            "안녕하세요",
            "Привет",
            "Γειά",
            "مرحبا",
            "नमस्ते",
            "สวัสดี",
        ],
    )
    def test_it_speaks_many_scripts(self, text: str) -> None:
        assert seconds(text) > 0.4

    def test_mixed_text_is_spoken_whole(self) -> None:
        parts = seconds("我用") + seconds("Python") + seconds("写代码。")
        assert seconds("我用 Python 写代码。") > 0.6 * parts

    def test_kanji_in_japanese_are_refused(self) -> None:
        with pytest.raises(UnsupportedText, match="日本語"):
            seconds("日本語です")

    def test_numerals_that_are_no_digits_are_spoken(self) -> None:
        assert seconds("❶") > 0.2

    def test_a_mark_without_a_letter_is_refused(self) -> None:
        with pytest.raises(UnsupportedText) as refused:
            seconds("\uff9e")
        assert refused.value.characters == "\uff9e"

    def test_a_chosen_voice_leaves_other_scripts_to_voices_that_know_them(self) -> None:
        assert seconds("你好 world", request(voice="de")) > 0.5

    def test_speed_is_obeyed(self) -> None:
        slow, fast = (seconds("Good morning.", request(speed=speed)) for speed in (0.5, 2.0))
        assert slow > 1.8 * fast

    def test_the_library_of_the_system_will_do(self) -> None:
        """Without the package espeakng-loader; in a process of its own, as one library is kept."""
        script = (
            "import importlib.util\n"
            "find = importlib.util.find_spec\n"
            "importlib.util.find_spec = "
            "lambda n, p=None: None if n == 'espeakng_loader' else find(n, p)\n"
            "from legato.engines.espeak import Espeak, FORMAT\n"
            "from legato.speech import SynthesisRequest\n"
            "engine = Espeak()\n"
            "engine.check()\n"
            "engine.load()\n"
            "chunks = engine.synthesize(SynthesisRequest(format=FORMAT), ['你好'])\n"
            "print(sum(chunk.samples for chunk in chunks))\n"
        )
        run = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60)
        assert run.returncode == 0, run.stderr.decode()
        assert int(run.stdout) > 8_000
