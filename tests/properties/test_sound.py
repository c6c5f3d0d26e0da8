import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from legato.audio import AudioFormat
from legato.speech.sound.limiter import CEILING
from legato.speech.sound.treatment import Treated, Treatment

FORM = AudioFormat(8_000)
TREATMENTS = st.builds(
    Treatment,
    gain_db=st.sampled_from([-12.0, -3.0, 0.0, 2.0, 6.0]),
    tail=st.sampled_from([None, 0.0, 0.08, 0.4]),
)
PARTS = st.lists(
    st.tuples(st.integers(0, 1_500), st.sampled_from([0, 5, 30, 400, 20_000, 32_767])), max_size=8
)


@st.composite
def speech(draw: st.DrawFn) -> bytes:
    """Stretches of noise of different levels, some of them silent."""
    rng = np.random.default_rng(draw(st.integers(0, 1_000)))
    parts = [rng.integers(-level, level + 1, size) for size, level in draw(PARTS)]
    return np.concatenate([np.zeros(0), *parts]).astype("<i2").tobytes()


def treated(treatment: Treatment, pieces: list[bytes]) -> bytes:
    one = Treated(treatment, FORM)
    return b"".join([*map(one.push, pieces), one.end()])


@given(TREATMENTS, speech(), st.lists(st.integers(1, 700), min_size=1, max_size=5))
def test_how_speech_is_cut_into_chunks_changes_no_sample(
    treatment: Treatment, pcm: bytes, sizes: list[int]
) -> None:
    pieces: list[bytes] = []
    at = 0
    while at < len(pcm):
        size = 2 * sizes[len(pieces) % len(sizes)]
        pieces.append(pcm[at : at + size])
        at += size
    assert treated(treatment, pieces) == treated(treatment, [pcm])


@given(TREATMENTS, speech())
def test_nothing_loud_is_cut_and_nothing_is_added(treatment: Treatment, pcm: bytes) -> None:
    out = np.frombuffer(treated(treatment, [pcm]), "<i2")
    audio = np.frombuffer(pcm, "<i2")
    assert len(out) <= len(audio)
    step = 80
    loud = sum(
        math.sqrt(float(np.mean(np.square(audio[at : at + step].astype(float))))) >= 32.768
        for at in range(0, len(audio) - len(audio) % step, step)
    )
    assert len(out) >= loud * step


@given(speech())
def test_what_is_raised_stays_below_the_ceiling(pcm: bytes) -> None:
    out = np.frombuffer(treated(Treatment(gain_db=6.0), [pcm]), "<i2").astype(int)
    assert np.abs(out).max(initial=0) <= math.ceil(CEILING * 32768)
