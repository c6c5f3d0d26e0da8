import numpy as np
import pytest

from legato.audio import AudioFormat
from legato.errors import BadAudio
from legato.speech.sound.edges import LEAD
from legato.speech.sound.treatment import (
    CLAUSE_PAUSE,
    SENTENCE_PAUSE,
    WORD_PAUSE,
    Treated,
    Treatment,
    pause_within,
)

FORM = AudioFormat(24_000, 2)


def speech(seconds: float, level: int = 10_000) -> bytes:
    return np.full(FORM.samples(seconds) * FORM.channels, level, "<i2").tobytes()


def treated(treatment: Treatment, *pieces: bytes) -> bytes:
    one = Treated(treatment, FORM)
    return b"".join([*map(one.push, pieces), one.end()])


@pytest.mark.parametrize("gain_db", [-6.0, 0.0, 6.0])
def test_silence_is_cut_and_the_rest_raised(gain_db: float) -> None:
    out = treated(Treatment(gain_db=gain_db), speech(0.5, 0), speech(0.5), speech(1.0, 0))
    assert FORM.samples_in(out) == FORM.samples(LEAD + 0.5 + SENTENCE_PAUSE)
    middle = np.frombuffer(out, "<i2")[FORM.samples(LEAD + 0.1) * 2 :][:1000]
    assert middle == pytest.approx(round(10_000 * 10 ** (gain_db / 20)), abs=1)


def test_half_a_sample_is_refused() -> None:
    with pytest.raises(BadAudio):
        Treated(Treatment(), FORM).push(b"abc")


def test_no_sound_is_no_sound() -> None:
    assert treated(Treatment(gain_db=6.0)) == b""
    assert treated(Treatment(), b"", b"") == b""


@pytest.mark.parametrize(
    ("text", "pause"),
    [
        ("It works.", SENTENCE_PAUSE),
        ("真的吗？", SENTENCE_PAUSE),
        ('He said "no!" ', SENTENCE_PAUSE),
        ("first, ", CLAUSE_PAUSE),
        ("你好，", CLAUSE_PAUSE),
        ("我用 ", WORD_PAUSE),
        ("", WORD_PAUSE),
    ],
)
def test_the_pause_within_a_segment_is_that_of_its_punctuation(text: str, pause: float) -> None:
    assert pause_within(text) == pause
