import importlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from legato.audio import AudioFormat
from legato.engines.base import EngineKind, Synthesizer
from legato.engines.clauses import Part
from legato.engines.piper import Piper, converted
from legato.engines.piper_voices import GET, INSTALL
from legato.engines.registry import listing
from legato.errors import EngineUnavailable, UnsupportedText
from legato.speech import SynthesisRequest
from legato.testing.engines import SynthesizerContract
from tests.unit.engines.piper_stage import loaded, package, voice


class TestPiper(SynthesizerContract):
    @pytest.fixture(scope="class")
    @classmethod
    def engine(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Synthesizer]:
        with loaded(model=voice(tmp_path_factory.mktemp("voices"))) as engine:
            yield engine


class TestStillPiper(SynthesizerContract):
    """Without noise it repeats itself."""

    @pytest.fixture(scope="class")
    @classmethod
    def engine(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Synthesizer]:
        model = voice(tmp_path_factory.mktemp("voices"))
        with loaded(model=model, noise_scale=0, noise_w=0) as engine:
            assert engine.info.deterministic
            yield engine


def request(**more: object) -> SynthesisRequest:
    return SynthesisRequest(format=AudioFormat(22_050), **more)  # type: ignore[arg-type]  # fields by name


def say(engine: Piper, text: str, **more: object) -> bytes:
    return b"".join(chunk.pcm for chunk in engine.synthesize(request(**more), [text]))


def test_without_the_package_the_commands_are_told() -> None:
    with pytest.raises(EngineUnavailable) as caught:
        Piper().check()
    assert INSTALL in caught.value.message
    assert GET in caught.value.message


def test_without_a_voice_the_command_is_told(tmp_path: Path) -> None:
    with package():
        for options in ({}, {"model": str(tmp_path / "no.onnx")}, {"voices": str(tmp_path)}):
            with pytest.raises(EngineUnavailable, match="download_voices"):
                Piper(**options).check()


def test_it_is_listed_under_its_name() -> None:
    assert listing(EngineKind.SYNTHESIZE, "piper").missing is not None


@pytest.mark.parametrize(
    ("options", "words"),
    [({"tempo": "x"}, "tempo"), ({"threads": 0}, "threads"), ({"genders": {"a": "x"}}, "genders")],
)
def test_an_option_that_is_wrong_is_named(options: dict[str, object], words: str) -> None:
    with pytest.raises(EngineUnavailable, match=words):
        Piper(**options)


@pytest.mark.parametrize("text", ["", "[]", '{"audio": {}}', '{"audio": {"sample_rate": "x"}}'])
def test_a_voice_without_its_settings_is_named(tmp_path: Path, text: str) -> None:
    model = voice(tmp_path)
    Path(f"{model}.json").write_text(text, encoding="utf-8")
    with package(), pytest.raises(EngineUnavailable, match="not what piper writes"):
        Piper(model=model).check()
    Path(f"{model}.json").unlink()
    with package(), pytest.raises(EngineUnavailable, match="two files"):
        Piper(model=model).check()


def test_a_file_that_is_no_network_is_named(tmp_path: Path) -> None:
    model = voice(tmp_path)
    Path(model).write_bytes(b"<!DOCTYPE html>")
    with package(), pytest.raises(EngineUnavailable, match="cannot be loaded"):
        Piper(model=model).load()


def test_the_voices_of_a_folder_are_offered_the_model_first(tmp_path: Path) -> None:
    voice(tmp_path / "more", "de_DE-amsel-low", code="de_DE", rate_hz=16_000)
    model = voice(tmp_path, "en_US-lark-medium")
    genders = {"en_US-lark-medium": "female"}
    with loaded(model=model, voices=str(tmp_path), genders=genders) as engine:
        lark, amsel = engine.info.voices
        assert (lark.name, lark.languages, lark.gender) == (
            "en_US-lark-medium",
            ("en-US",),
            "female",
        )
        assert (amsel.name, amsel.languages, amsel.gender) == ("de_DE-amsel-low", ("de-DE",), None)
        assert lark.loudness_lufs == pytest.approx(-14, abs=6)
        assert engine.info.languages == ("en-US", "de-DE")
        english = say(engine, "Guten Morgen.", voice="en_US-lark-medium")
        german = say(engine, "Guten Morgen.", voice="de_DE-amsel-low")
        # 16 kHz become 22.05 kHz.
        assert len(german) == pytest.approx(len(english) * 22_050 / 16_000, rel=0.01)
        assert len(say(engine, "Guten Morgen.", language="de-AT")) == len(german)
        assert len(say(engine, "Guten Morgen.", language="fr")) == len(english)


def test_a_script_is_read_by_a_voice_that_knows_it(tmp_path: Path) -> None:
    voice(tmp_path, "a-lark", code="en_US")
    voice(tmp_path, "b-zhavoronok", code="ru_RU", phoneme_id_map={"_": [0], "^": [1], "$": [2]})
    with loaded(voices=str(tmp_path), noise_scale=0, noise_w=0) as engine:
        assert engine.info.voices[1].loudness_lufs is None
        assert say(engine, "Lark.", voice="b-zhavoronok") == say(engine, "Lark.", voice="a-lark")


def test_speakers_are_offered_that_are_named(tmp_path: Path) -> None:
    model = voice(tmp_path, "duo", code=None, speaker_id_map={"anna": 0, "bo": 1})
    with loaded(model=model, speakers=["anna"]) as engine:
        assert [one.name for one in engine.info.voices] == ["duo", "duo#anna"]
        assert engine.info.languages == ("en-us",)
    with package(), pytest.raises(EngineUnavailable, match="'zoe'"):
        Piper(model=model, speakers=["zoe"]).check()


def test_a_chinese_voice_downloads_nothing(tmp_path: Path) -> None:
    model = voice(tmp_path, "zh_CN-lark", code="zh_CN", phoneme_type="pinyin")
    with package(), pytest.raises(EngineUnavailable, match="g2pW"):
        Piper(model=model).check()
    (tmp_path / "g2pW").mkdir()
    with package():
        Piper(model=model, g2pw=str(tmp_path)).check()


def test_what_a_voice_wants_besides_is_told_when_it_loads(tmp_path: Path) -> None:
    model = voice(tmp_path, phoneme_type="japanese")
    with package(), pytest.raises(EngineUnavailable, match="medium does not speak: pyopenjtalk"):
        Piper(model=model).load()


def test_brackets_are_no_command(tmp_path: Path) -> None:
    with loaded(model=voice(tmp_path), noise_scale=0, noise_w=0) as engine:
        assert say(engine, "[[kit]]") == say(engine, "[ [kit]]")
        model = engine._loaded["en_US-lark-medium"].model  # noqa: SLF001  (what it is given)
        assert model.phonemize("[[k!t]]") == [["k", "!", "t"]]


def test_what_it_has_no_sound_for_is_refused_before_anything_is_heard(tmp_path: Path) -> None:
    with loaded(model=voice(tmp_path)) as engine:
        with pytest.raises(UnsupportedText) as caught:
            say(engine, "Fine.\nþþþ")
        assert caught.value.characters == "þ"


def test_the_first_audio_is_that_of_the_first_clause(tmp_path: Path) -> None:
    with loaded(model=voice(tmp_path)) as engine:
        voiced = engine._loaded["en_US-lark-medium"]  # noqa: SLF001  (what is spoken in one call)
        text = "In the morning, the lark sings. " + "word " * 40
        said = engine._phonemes(voiced, text)  # noqa: SLF001  (its parts)
        assert "".join(said[0].phonemes) == "in the morning,"
        assert max(len(part.phonemes) for part in said) <= 60
        assert said[1] == Part(list(" the lark sings."), None)


def test_a_clause_is_as_loud_as_the_sentence(tmp_path: Path) -> None:
    with loaded(model=voice(tmp_path), noise_scale=0, noise_w=0) as engine:
        short, whole = (
            np.frombuffer(say(engine, text), "<i2") for text in ("Oh.", "Oh, what a morning.")
        )
        assert abs(short).max() == pytest.approx(abs(whole).max(), rel=0.05)


def test_another_rate_keeps_the_length_in_seconds() -> None:
    pcm = np.arange(1600, dtype=np.int16)
    assert len(converted(pcm, 16_000, 16_000)) == 1600
    assert len(converted(pcm, 16_000, 24_000)) == pytest.approx(2400, abs=40)
    assert len(converted(pcm[:0], 16_000, 24_000)) == 0


def test_it_says_nothing_before_it_is_loaded(tmp_path: Path) -> None:
    with package():
        importlib.import_module("piper")
        with pytest.raises(EngineUnavailable, match="not loaded"):
            next(Piper(model=voice(tmp_path)).synthesize(request(), ["Hello."]))
