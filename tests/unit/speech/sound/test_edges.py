import numpy as np
import pytest

from legato.audio import AudioFormat
from legato.speech.sound.edges import FADE_IN, FADE_OUT, LEAD, LONGEST, STEP, Edges, Samples

FORM = AudioFormat(16_000)


def sound(seconds: float, level: int = 8_000, form: AudioFormat = FORM) -> Samples:
    """The worst that can be cut: as loud as can be at once."""
    count = form.samples(seconds)
    return np.full((count, form.channels), level, np.int16)


def silence(seconds: float, form: AudioFormat = FORM) -> Samples:
    return sound(seconds, 0, form)


def edged(*pieces: Samples, tail: float | None = 0.2, form: AudioFormat = FORM) -> Samples:
    edges = Edges(form, tail=tail)
    return np.concatenate([*map(edges.push, pieces), edges.end()])


def seconds(audio: Samples) -> float:
    return len(audio) / FORM.sample_rate


def test_silence_is_cut_to_a_pause_at_both_ends() -> None:
    out = edged(silence(0.5), sound(0.3), silence(0.7))
    assert seconds(out) == pytest.approx(LEAD + 0.3 + 0.2)
    assert not out[: FORM.samples(LEAD)].any()
    assert not out[-FORM.samples(0.2) :].any()
    assert (out[FORM.samples(LEAD) : -FORM.samples(0.2)] == 8_000).all()


def test_silence_within_the_bounds_stays() -> None:
    whole = (silence(0.03), sound(0.3), silence(0.1))
    assert (edged(*whole) == np.concatenate(whole)).all()


def test_a_pause_within_is_not_shortened_however_long() -> None:
    for pause in (0.1, 0.5, 3.0):
        out = edged(silence(0.02), sound(0.2), silence(pause), sound(0.2), silence(0.1))
        assert seconds(out) == pytest.approx(0.02 + 0.2 + pause + 0.2 + 0.1)


def test_a_silence_that_lasts_is_given_out_and_is_no_end() -> None:
    edges = Edges(FORM, tail=0.2)
    given = sum(len(edges.push(sound(0.1))) for _ in range(2))
    given += sum(len(edges.push(silence(0.1))) for _ in range(100))
    assert given > FORM.samples(10.0)
    assert given + len(edges.end()) == FORM.samples(10.2)


def test_of_a_silence_not_more_than_two_seconds_are_held_back() -> None:
    edges = Edges(FORM, tail=0.2)
    given = len(edges.push(sound(0.1))) + len(edges.push(silence(LONGEST + 0.1)))
    assert given >= FORM.samples(LONGEST)


def test_of_a_sound_not_more_than_15_ms_are_held_back() -> None:
    edges = Edges(FORM, tail=0.2)
    taken = given = 0
    for _ in range(300):
        taken += 37
        given += len(edges.push(np.full((37, 1), 8_000, np.int16)))
        assert taken - given < FORM.samples(STEP) + FORM.samples(FADE_OUT)


def test_silence_alone_becomes_a_short_silence() -> None:
    assert seconds(edged(silence(1.0))) == pytest.approx(LEAD)
    assert len(edged(silence(0.004))) == len(silence(0.004))
    assert len(edged()) == 0
    assert len(edged(silence(0.0))) == 0


def test_what_begins_and_ends_loud_begins_and_ends_at_nothing() -> None:
    out = edged(sound(0.3, 20_000))[:, 0]
    assert out[0] == 0
    assert abs(int(out[-1])) < 20
    assert (out[FORM.samples(FADE_IN) : -FORM.samples(FADE_OUT)] == 20_000).all()
    assert np.abs(np.diff(out.astype(int))).max() < 20_000 / FORM.samples(FADE_IN) * 2


def test_a_sound_shorter_than_its_fades_is_faded_all_the_same() -> None:
    out = edged(sound(0.003))[:, 0]
    assert len(out) == FORM.samples(0.003)
    assert out[0] == 0
    assert out[-1] < 200


def test_what_ends_within_a_step_is_whole() -> None:
    assert len(edged(sound(0.0537))) == FORM.samples(0.0537)
    assert len(edged(sound(0.05), silence(0.2), sound(0.0037))) == FORM.samples(0.2537)
    out = edged(sound(0.05), silence(0.3537))
    assert seconds(out) == pytest.approx(0.25)


def test_the_last_pause_before_a_short_end_is_kept() -> None:
    out = edged(sound(0.1), silence(0.5), sound(0.004))
    assert len(out) == FORM.samples(0.604)


def test_without_a_bound_no_silence_is_cut_but_ends_are_faded() -> None:
    out = edged(silence(0.5), sound(0.3), silence(0.7), tail=None)
    assert seconds(out) == pytest.approx(1.5)
    assert edged(sound(0.1), tail=None)[0, 0] == 0


def test_both_channels_are_cut_at_the_same_place() -> None:
    form = AudioFormat(24_000, 2)
    left = sound(0.3, form=form)
    left[:, 1] = 0
    out = edged(silence(0.5, form), left, silence(0.7, form), form=form)
    assert out.shape == (form.samples(LEAD + 0.3 + 0.2), 2)
    assert not out[:, 1].any()


def test_what_was_given_in_is_not_altered() -> None:
    audio = sound(0.1)
    edged(audio)
    assert (audio == 8_000).all()
