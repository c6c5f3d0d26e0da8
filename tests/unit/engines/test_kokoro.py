import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from legato.audio import AudioFormat
from legato.engines.base import EngineKind, Synthesizer
from legato.engines.kokoro import Kokoro
from legato.engines.registry import listing
from legato.errors import EngineUnavailable, UnsupportedText
from legato.speech import SynthesisRequest
from legato.speech.scripts import Script
from legato.testing.engines import SynthesizerContract
from tests.standins import kokoro_onnx as standin
from tests.standins.onnx_file import kokoro_model

STANDINS = Path(standin.__file__).parents[1]


@contextmanager
def package() -> Iterator[None]:
    """Have `import kokoro_onnx` find the stand-in."""
    sys.path.insert(0, str(STANDINS))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(str(STANDINS))
        sys.modules.pop("kokoro_onnx", None)


def files(folder: Path, *names: str) -> dict[str, str]:
    """A model and a file of voices, as options."""
    voices = folder / "voices.npz"
    styles = {
        name: np.full((510, 1, 256), place, dtype=np.float32) for place, name in enumerate(names)
    }
    np.savez(voices, **styles)  # type: ignore[arg-type]  # arrays by name
    return {"model": str(kokoro_model(folder / "kokoro.onnx")), "voices": str(voices)}


@contextmanager
def loaded(**options: object) -> Iterator[Kokoro]:
    with package():
        engine = Kokoro(**options)
        engine.load()
        yield engine
        engine.close()


class TestKokoro(SynthesizerContract):
    @pytest.fixture(scope="class")
    @classmethod
    def engine(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Synthesizer]:
        folder = tmp_path_factory.mktemp("kokoro")
        with loaded(**files(folder, "af_heart", "am_adam", "ff_siwis")) as engine:
            assert engine.info.deterministic
            yield engine


def say(engine: Kokoro, text: str, **more: object) -> bytes:
    request = SynthesisRequest(format=AudioFormat(24_000), **more)  # type: ignore[arg-type]  # fields by name
    return b"".join(chunk.pcm for chunk in engine.synthesize(request, [text]))


def test_without_the_package_the_command_is_told() -> None:
    with pytest.raises(EngineUnavailable, match=r"kokoro_onnx is not installed.*\[kokoro\]"):
        Kokoro().check()
    assert listing(EngineKind.SYNTHESIZE, "kokoro-onnx").missing is not None


def test_files_that_are_missing_are_named(tmp_path: Path) -> None:
    with package():
        for options, words in (
            ({}, "model is not set"),
            ({"model": "no.onnx"}, "no.onnx is not there"),
            ({**files(tmp_path, "af_heart"), "voices": ""}, "voices is not set"),
        ):
            with pytest.raises(EngineUnavailable, match=words):
                Kokoro(**options).check()


def test_an_option_that_is_wrong_is_named() -> None:
    with pytest.raises(EngineUnavailable, match="speed"):
        Kokoro(speed=2)


@pytest.mark.parametrize("more", [{"voice": "af_bella"}, {"languages": {"af_bella": "en-US"}}])
def test_a_voice_that_is_not_in_the_file_is_named(tmp_path: Path, more: dict[str, object]) -> None:
    with package(), pytest.raises(EngineUnavailable, match="'af_bella', only af_heart"):
        Kokoro(**files(tmp_path, "af_heart"), **more).check()


def test_files_of_another_kind_are_told(tmp_path: Path) -> None:
    options = files(tmp_path, "af_heart")
    Path(options["model"]).write_bytes(b"<html>")
    with package(), pytest.raises(EngineUnavailable, match="cannot be loaded"):
        Kokoro(**options).load()
    Path(options["voices"]).write_bytes(b"<html>")
    with package(), pytest.raises(EngineUnavailable, match="no voice speaks"):
        Kokoro(**options).check()


def test_a_voice_has_the_language_and_gender_of_its_name(tmp_path: Path) -> None:
    names = ("af_heart", "bm_george", "ff_siwis", "jf_alpha", "zm_yunxi")
    with loaded(**files(tmp_path, *names), voice="bm_george") as engine:
        assert [(v.name, v.languages, v.gender) for v in engine.info.voices] == [
            ("bm_george", ("en-GB",), "male"),
            ("af_heart", ("en-US",), "female"),
            ("ff_siwis", ("fr-FR",), "female"),
        ]
        assert engine.info.version.count("+") == 1
        assert all(v.loudness_lufs is not None for v in engine.info.voices)
        assert say(engine, "Salut.", language="fr") == say(engine, "Salut.", voice="ff_siwis")
        assert say(engine, "Hello.") == say(engine, "Hello.", voice="bm_george")


def test_a_voice_without_a_language_speaks_one_that_it_is_given(tmp_path: Path) -> None:
    options = files(tmp_path, "jf_alpha")
    with package(), pytest.raises(EngineUnavailable, match=r"name one in languages.*jf_alpha"):
        Kokoro(**options).check()
    with loaded(**options, languages={"jf_alpha": "en-US"}) as engine:
        assert say(engine, "Hello.")


def test_a_language_without_phonemes_is_told_when_it_loads(tmp_path: Path) -> None:
    options = files(tmp_path, "af_heart", "jf_alpha")
    with package(), pytest.raises(EngineUnavailable, match="jf_alpha does not speak ja"):
        Kokoro(**options, languages={"jf_alpha": "ja"}).load()


def test_flags_of_foreign_words_are_not_spoken(tmp_path: Path) -> None:
    with loaded(**files(tmp_path, "ff_siwis")) as engine:
        assert "(en)" in standin.Tokenizer().phonemize("computer", "fr-fr")
        french = say(engine, "le computer bon")
        assert len(french) == len(say(engine, "le camputer bon"))


def test_brackets_are_not_taken_for_flags(tmp_path: Path) -> None:
    with loaded(**files(tmp_path, "af_heart")) as engine:
        assert len(say(engine, "turn it (on) now")) >= len(say(engine, "turn it on now"))


def test_what_has_no_phoneme_is_refused_before_anything_is_heard(tmp_path: Path) -> None:
    with loaded(**files(tmp_path, "af_heart")) as engine:
        with pytest.raises(UnsupportedText) as caught:
            say(engine, "Fine.\nþþþ")
        assert caught.value.characters == "þ"


def test_a_script_is_read_by_a_voice_that_knows_it(tmp_path: Path) -> None:
    options = files(tmp_path, "af_heart", "x_greek")
    with package():
        engine = Kokoro(**options, languages={"x_greek": "el"}, voice="x_greek")
    reader = engine._reader  # noqa: SLF001  (who reads what)
    scripts = (Script.LATIN, Script.GREEK, Script.COMMON)
    assert [reader("x_greek", script) for script in scripts] == ["af_heart", "x_greek", "x_greek"]


def test_it_says_nothing_before_it_is_loaded() -> None:
    with pytest.raises(EngineUnavailable, match="not loaded"):
        say(Kokoro(), "Hello.")
