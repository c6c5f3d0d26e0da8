import numpy as np
import pytest

from legato.engines.tape import Tape
from legato.errors import BadAudio


def tape(*parts: list[int]) -> Tape:
    made = Tape()
    for part in parts:
        made.append(np.array(part, "<i2").tobytes())
    return made


def read(tape: Tape, start: int, end: int) -> list[int]:
    return [round(sample * 32768) for sample in tape.read(start, end)]


def test_samples_are_read_where_they_were_written() -> None:
    made = tape([1, 2, 3], [4, 5])
    assert made.end == 5
    assert read(made, 1, 4) == [2, 3, 4]


def test_what_comes_after_the_end_is_silence() -> None:
    assert read(tape([1, 2]), 1, 4) == [2, 0, 0]
    assert read(tape([1, 2]), 5, 7) == [0, 0]


def test_positions_stay_when_the_beginning_is_forgotten() -> None:
    made = tape([1, 2, 3])
    made.forget(2)
    made.append(np.array([4], "<i2").tobytes())
    assert made.end == 4
    assert read(made, 2, 4) == [3, 4]


def test_forgetting_twice_changes_nothing() -> None:
    made = tape([1, 2, 3])
    made.forget(2)
    made.forget(1)
    assert read(made, 2, 3) == [3]


def test_forgotten_samples_cannot_be_read() -> None:
    made = tape([1, 2, 3])
    made.forget(2)
    with pytest.raises(ValueError, match="sample 1 is forgotten"):
        made.read(1, 3)


def test_half_a_sample_is_refused() -> None:
    with pytest.raises(BadAudio):
        Tape().append(b"\x00\x00\x00")
