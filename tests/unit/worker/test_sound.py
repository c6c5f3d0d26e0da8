from dataclasses import replace

import pytest

from legato.audio import AudioFormat
from legato.engines.base import EngineInfo, EngineKind
from legato.engines.tone import ToneSynthesizer
from legato.errors import MalformedMessage
from legato.protocol.messages import StreamStart
from legato.speech import SynthesisRequest, Voice, VoicePrompt
from legato.speech.sound.treatment import SENTENCE_PAUSE, WORD_PAUSE, Treatment
from legato.worker.sound import SoundOptions, sound_options, treatment_of

MONO = AudioFormat(16_000)
LOUD, QUIET, UNKNOWN = (
    Voice(name="loud", engine="e", languages=("en-US",), loudness_lufs=-21.0),
    Voice(name="quiet", engine="e", languages=("zh-CN",), loudness_lufs=-30.0),
    Voice(name="unknown", engine="e", languages=("de",)),
)
INFO = EngineInfo(
    name="e",
    kind=EngineKind.SYNTHESIZE,
    version="1",
    format=MONO,
    voices=(LOUD, QUIET, UNKNOWN),
)
REQUEST = SynthesisRequest(format=MONO)
PROMPT = VoicePrompt(name="own", pcm=b"", format=MONO)


def gain(
    request: SynthesisRequest = REQUEST,
    *,
    said: dict[str, float] | None = None,
    language: str = "",
    info: EngineInfo = INFO,
) -> float:
    treatment = treatment_of(SoundOptions(), info, request, said=said or {}, language=language)
    assert treatment is not None
    return treatment.gain_db


@pytest.mark.parametrize(
    ("told", "options"),
    [
        ({}, SoundOptions()),
        ({"sound": {}}, SoundOptions()),
        ({"sound": {"level": False}}, SoundOptions(level=False)),
        ({"sound": {"level": True, "trim": False}}, SoundOptions(trim=False)),
    ],
)
def test_a_stream_may_want_its_engines_own_sound(
    told: dict[str, object], options: SoundOptions
) -> None:
    start = StreamStart(stream_id="s", task="synthesize", options=told)
    assert sound_options(start) == options


@pytest.mark.parametrize("sound", [False, [], {"level": 1}, {"loud": True}, {"trim": None}, "off"])
def test_what_cannot_be_followed_is_refused_with_what_can(sound: object) -> None:
    start = StreamStart(stream_id="s", task="synthesize", options={"sound": sound})
    with pytest.raises(MalformedMessage, match="level and trim"):
        sound_options(start)


def test_a_voice_is_brought_to_the_target() -> None:
    assert gain() == -5  # that of the first voice
    assert gain(replace(REQUEST, voice="quiet")) == 4
    assert gain(replace(REQUEST, voice="unknown")) == 0
    assert gain(replace(REQUEST, voice="nobody")) == 0
    assert gain(info=replace(INFO, voices=())) == 0


def test_without_a_name_the_voice_is_that_of_the_language() -> None:
    assert gain(replace(REQUEST, language="zh")) == 4
    assert gain(language="zh-TW") == 4
    assert gain(replace(REQUEST, language="en"), language="zh") == -5
    assert gain(language="fr") == -5


def test_what_the_operator_measured_counts_more() -> None:
    said = {"e": -22.0, "e/quiet": -28.0, "other": -10.0}
    assert gain(said=said) == -4
    assert gain(replace(REQUEST, voice="quiet"), said=said) == 2
    assert gain(said={"e/loud": -24.0}) == -2
    assert gain(info=replace(INFO, voices=()), said=said) == -4


def test_a_recorded_voice_is_not_taken_for_the_engines() -> None:
    own = replace(REQUEST, prompt=PROMPT, voice="own")
    assert gain(own) == 0
    assert gain(replace(own, voice="loud")) == 0
    assert gain(own, said={"e/own": -29.0}) == 3


def test_what_is_switched_off_is_not_done() -> None:
    def of(options: SoundOptions, behind: str = "") -> Treatment | None:
        return treatment_of(options, INFO, REQUEST, said={}, behind=behind)

    assert of(SoundOptions()) == Treatment(gain_db=-5, tail=SENTENCE_PAUSE)
    assert of(SoundOptions(), "and then ") == Treatment(gain_db=-5, tail=WORD_PAUSE)
    assert of(SoundOptions(level=False)) == Treatment(gain_db=0, tail=SENTENCE_PAUSE)
    assert of(SoundOptions(trim=False), "and") == Treatment(gain_db=-5, tail=None)
    assert of(SoundOptions(level=False, trim=False)) is None


def test_tones_for_tests_are_left_alone() -> None:
    for info in (None, ToneSynthesizer.info):
        assert treatment_of(SoundOptions(), info, REQUEST, said={"tone": -10.0}) is None
