"""The engine `cosyvoice` with voices that clients bring."""

import hashlib
import math
from pathlib import Path

import numpy as np
import pytest

from legato.audio import AudioFormat
from legato.engines.base import Ability, Cloning
from legato.errors import UnknownVoice
from legato.speech.voices import VoicePrompt
from tests.standins.cosyvoice.sound import heard, tokens
from tests.unit.engines.cosyvoice.stage import behind, loaded, request, spoken

TEXT = "one two three four five"
SAID = "我是另一个人。"


def prompt(text: str = SAID, *, name: str = "bob", level: float = 0.2) -> VoicePrompt:
    at = np.arange(24_000 * 3) / 24_000
    pcm = (32_768 * level * np.sin(2 * math.pi * 200 * at)).astype("<i2").tobytes()
    digest = hashlib.sha256(pcm).hexdigest()
    return VoicePrompt(name=name, pcm=pcm, format=AudioFormat(24_000), text=text, digest=digest)


def prompts_of(asked: list[dict[str, object]]) -> list[object]:
    return [one["prompt"] for one in asked]


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_client_s_voice_speaks_and_is_registered_once(number: int, tmp_path: Path) -> None:
    with loaded(tmp_path, number, mode="zero_shot") as engine:
        model = behind(engine)
        read, before = len(model.prompts_read), len(model.asked)
        for _ in range(3):
            audio = spoken(engine, TEXT, voice="bob", prompt=prompt())
            assert heard(audio, model.sample_rate) == tokens(TEXT)[:-1]
        assert len(model.prompts_read) == read + 3  # the stand-in opens a file three times
        assert all(str(said).endswith(SAID) for said in prompts_of(model.asked[before:]))
        assert [voice.name for voice in engine.info.voices] == ["anna"]


def test_without_a_transcript_it_is_spoken_as_a_foreign_voice(tmp_path: Path) -> None:
    with loaded(tmp_path, 3, mode="zero_shot") as engine:
        model = behind(engine)
        before = len(model.asked)
        spoken(engine, TEXT, prompt=prompt(""))
        assert prompts_of(model.asked[before:]) == [""]
        assert str(model.asked[-1]["text"]).endswith(f"<|endofprompt|>{TEXT}")


def test_an_instruction_holds_for_a_client_s_voice(tmp_path: Path) -> None:
    with loaded(tmp_path, 2, mode="instruct", instruct_text="Whisper") as engine:
        model = behind(engine)
        before = len(model.asked)
        spoken(engine, TEXT, prompt=prompt())
        spoken(engine, TEXT, prompt=prompt(), options={"instruct_text": "Shout"})
        spoken(engine, TEXT, voice="anna")
        whispered, shouted, own = prompts_of(model.asked[before:])
        assert [whispered, own] == ["Whisper<|endofprompt|>"] * 2
        assert shouted == "Shout<|endofprompt|>"


def test_voices_in_turn_do_not_mix(tmp_path: Path) -> None:
    with loaded(tmp_path, 2) as engine:
        model = behind(engine)
        before = len(model.asked)
        for said in ("I am one.", "I am two.", "I am one."):
            spoken(engine, TEXT, voice="same", prompt=prompt(said))
        spoken(engine, TEXT, voice="anna")
        assert prompts_of(model.asked[before:])[:3] == ["I am one.", "I am two.", "I am one."]
        assert prompts_of(model.asked)[-1] != "I am one."


def test_what_is_kept_of_a_voice_is_forgotten(tmp_path: Path) -> None:
    with loaded(tmp_path, 2, models=2) as engine:
        assert isinstance(engine, Cloning)
        own = set(behind(engine).frontend.spk2info)
        for _ in range(2):
            spoken(engine, TEXT, prompt=prompt())
        assert any(set(behind(engine, n).frontend.spk2info) != own for n in range(2))
        engine.forget(prompt().digest)
        for number in range(2):
            assert set(behind(engine, number).frontend.spk2info) == own
        spoken(engine, TEXT, prompt=prompt())


def test_a_stream_that_is_left_gives_its_voice_back(tmp_path: Path) -> None:
    with loaded(tmp_path, 2) as engine:
        own = set(behind(engine).frontend.spk2info)
        chunks = engine.synthesize(request(engine, prompt=prompt()), [TEXT * 8])
        next(iter(chunks))
        chunks.close()  # type: ignore[attr-defined]  # a generator
        spoken(engine, TEXT, prompt=prompt())  # the model is free: the stream before is over
        engine.forget(prompt().digest)
        assert set(behind(engine).frontend.spk2info) == own


@pytest.mark.parametrize(
    ("number", "more", "able"),
    [
        (1, {"mode": "sft"}, False),
        (1, {"mode": "instruct", "instruct_text": "x"}, False),
        (1, {"mode": "zero_shot"}, True),
        (2, {"mode": "cross_lingual"}, True),
        (3, {"mode": "instruct", "instruct_text": "x"}, True),
    ],
)
def test_the_engine_tells_whether_it_can(
    number: int, more: dict[str, object], able: bool, tmp_path: Path
) -> None:
    with loaded(tmp_path, number, **more) as engine:
        assert (Ability.CLONING in engine.info.abilities) is able
        if not able:
            with pytest.raises(UnknownVoice, match="its own voices alone"):
                spoken(engine, TEXT, prompt=prompt())


def test_before_it_is_loaded_there_is_nothing_to_forget(tmp_path: Path) -> None:
    with loaded(tmp_path, 2) as engine:
        engine.close()
        engine.forget("x")
