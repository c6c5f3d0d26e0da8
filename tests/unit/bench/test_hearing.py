import numpy as np
import pytest

from legato.audio import AudioChunk, AudioFormat
from legato.bench.hearing import Ear, ramp

FORMAT = AudioFormat(16_000)
SECOND = 16_000


def chunk(at: int, samples: int = SECOND, *, of: int | None = None) -> AudioChunk:
    """Samples that say they begin at `at`, and are those of `of`."""
    return AudioChunk(ramp(at if of is None else of, samples).tobytes(), FORMAT, at)


def heard(*instants: float) -> Ear:
    """A second of audio at each of these."""
    ear = Ear(ramp)
    for number, now in enumerate(instants):
        ear.hear(chunk(number * SECOND), now)
    return ear


def test_a_ramp_says_its_own_position_beyond_what_a_sample_can_hold() -> None:
    assert list(ramp(32_766, 4)) == [32_766, 32_767, -32_768, -32_767]
    assert np.array_equal(ramp(65_536, 3), ramp(0, 3))


@pytest.mark.parametrize(
    ("second", "wrong"),
    [
        (chunk(SECOND), 0),
        (chunk(SECOND + 40), 40),
        (chunk(SECOND - 60), 60),
        (chunk(SECOND, 100, of=0), 100),
    ],
    ids=["right", "lost", "twice", "other samples"],
)
def test_samples_that_are_not_those_of_their_place_are_counted(
    second: AudioChunk, wrong: int
) -> None:
    ear = heard(0.0)
    ear.hear(second, 1.0)
    assert ear.wrong == wrong


def test_samples_beyond_the_end_of_what_is_known_are_wrong() -> None:
    known = ramp(0, 90)
    ear = Ear(lambda at, count: known[at : at + count])
    ear.hear(chunk(0, 100), 0.0)
    assert ear.wrong == 10


@pytest.mark.parametrize(
    ("instants", "moved"),
    [
        ([9.0, 10.1, 12.5, 13.9], 2.5),
        ([9.0, 10.1, 10.2, 10.3], 5.0),
        ([9.0, 16.0], 5.0),
    ],
    ids=["after what was on its way", "never again", "too late"],
)
def test_a_stream_moves_again_at_the_end_of_its_longest_pause(
    instants: list[float], moved: float
) -> None:
    assert heard(*instants).moved_after(10.0, until=15.0) == moved


@pytest.mark.parametrize(
    ("instants", "held", "silent"),
    [
        ([0.0, 1.0, 2.0], 0.0, 0.0),
        ([0.0, 1.5, 2.5], 0.0, 0.5),
        ([0.0, 1.5, 2.5], 2.0, 0.0),
        ([0.0, 0.0, 2.0, 9.0], 0.0, 0.0),
        ([0.0, 1.0], 0.0, 1.0),
        ([], 0.0, 0.0),
    ],
    ids=["in time", "late", "held back", "after the end", "no more", "nothing at all"],
)
def test_a_listener_hears_nothing_when_all_that_came_is_played(
    instants: list[float], held: float, silent: float
) -> None:
    assert heard(*instants).silence(3.0, held=held) == silent


@pytest.mark.parametrize(
    ("instants", "held", "lead"),
    [([0.0, 0.5, 9.0], 0.0, 0.5), ([0.0, 0.5], 2.0, 2.5), ([0.0], 0.0, -0.5), ([], 2.0, 0.0)],
    ids=["ahead", "held back", "dry", "nothing at all"],
)
def test_a_lead_is_what_came_and_is_not_played(
    instants: list[float], held: float, lead: float
) -> None:
    assert heard(*instants).lead(1.5, held=held) == lead
