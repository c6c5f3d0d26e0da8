import math
from itertools import product

import pytest

from legato.errors import RateLimited
from legato.flow.jitter import TRANSITIONS, JitterBuffer, Playout, PlayoutFrame, Signal

RATE = 16_000
FRAME = 320
TICK = FRAME / RATE


def buffer_of(*numbers: int, depth: float = 0.0) -> JitterBuffer:
    buffer = JitterBuffer(RATE, depth)
    for number in numbers:
        assert push(buffer, number)
    return buffer


def push(buffer: JitterBuffer, number: int, now: float = 0.0) -> bool:
    return buffer.push(number * FRAME, bytes([number]), samples=FRAME, now=now)


def pull(buffer: JitterBuffer, now: float = 0.0) -> int | None:
    frame = buffer.pull(now)
    return None if frame is None else frame.payload[0]


def pull_all(buffer: JitterBuffer) -> list[int]:
    played = []
    while (number := pull(buffer)) is not None:
        played.append(number)
    return played


def test_every_state_knows_every_signal() -> None:
    assert set(TRANSITIONS) == set(product(Playout, Signal))


def test_without_depth_frames_play_as_they_come() -> None:
    buffer = JitterBuffer(RATE)

    assert pull(buffer) is None
    push(buffer, 0)
    assert buffer.pull(0.0) == PlayoutFrame(sample=0, payload=b"\x00", samples=FRAME)
    assert buffer.played_upto == FRAME


def test_nothing_plays_until_the_depth_is_buffered() -> None:
    buffer = buffer_of(0, 1, depth=0.06)

    assert buffer.depth == 0.06
    assert pull(buffer) is None
    assert buffer.buffered == pytest.approx(0.04)
    push(buffer, 2)
    assert pull_all(buffer) == [0, 1, 2]


def test_the_end_starts_what_is_shorter_than_the_depth() -> None:
    buffer = buffer_of(0, 1, depth=1.0)
    assert pull(buffer) is None

    buffer.end(2 * FRAME)

    assert pull_all(buffer) == [0, 1]
    assert buffer.underruns == 0


def test_frames_out_of_order_play_in_order() -> None:
    assert pull_all(buffer_of(2, 0, 3, 1)) == [0, 1, 2, 3]


def test_a_duplicate_is_dropped_while_it_waits() -> None:
    buffer = buffer_of(0, 1, 2)

    assert not push(buffer, 1)
    assert not push(buffer, 2)
    assert buffer.duplicates == 2
    assert pull_all(buffer) == [0, 1, 2]


def test_a_late_frame_is_dropped() -> None:
    buffer = buffer_of(0, 2)
    assert pull_all(buffer) == [0, 2]

    assert not push(buffer, 1)
    assert not push(buffer, 2)
    assert buffer.late == 2
    assert pull_all(buffer) == []


def test_a_frame_that_overlaps_what_was_played_is_dropped() -> None:
    buffer = buffer_of(0)
    assert buffer.push(FRAME // 2, b"overlap", samples=FRAME, now=0.0)
    push(buffer, 2)

    assert pull_all(buffer) == [0, 2]
    assert buffer.late == 1
    assert buffer.buffered == 0


def test_an_underrun_is_counted_and_the_depth_buffered_again() -> None:
    buffer = buffer_of(0, 1, depth=2 * TICK)
    assert pull_all(buffer) == [0, 1]
    assert buffer.state is Playout.STALLED

    push(buffer, 2)
    assert pull(buffer, now=0.3) is None
    push(buffer, 3)
    assert pull(buffer, now=0.5) == 2

    assert buffer.underruns == 1
    assert buffer.stalled == pytest.approx(0.5)


def test_running_dry_at_the_end_is_no_underrun() -> None:
    buffer = buffer_of(0)
    assert pull_all(buffer) == [0]
    assert buffer.state is Playout.STALLED

    buffer.end(FRAME)

    assert pull(buffer, now=9.0) is None
    assert (buffer.state, buffer.underruns, buffer.stalled) == (Playout.FILLING, 0, 0.0)


def test_the_end_ends_a_stall_with_what_is_left() -> None:
    buffer = buffer_of(0, depth=TICK)
    buffer.depth = 1.0
    assert pull_all(buffer) == []
    push(buffer, 1)
    buffer.depth = 0.0
    assert pull_all(buffer) == [0, 1]
    buffer.depth = 1.0
    push(buffer, 2)
    assert pull(buffer) is None

    buffer.end(3 * FRAME)

    assert pull(buffer) == 2
    assert buffer.underruns == 1


def test_the_next_utterance_waits_for_its_own_depth() -> None:
    buffer = buffer_of(0, 1, depth=3 * TICK)
    buffer.end(2 * FRAME)
    push(buffer, 2)

    assert pull_all(buffer) == [0, 1]
    assert buffer.state is Playout.FILLING
    push(buffer, 3)
    push(buffer, 4)
    assert pull_all(buffer) == [2, 3, 4]
    assert buffer.underruns == 0


def test_two_whole_utterances_play_without_a_pause() -> None:
    buffer = buffer_of(0, 1, 2, depth=1.0)
    buffer.end(FRAME)
    buffer.end(3 * FRAME)

    assert pull_all(buffer) == [0, 1, 2]


def test_after_the_end_what_is_missing_before_it_is_late() -> None:
    buffer = buffer_of(0)
    buffer.end(3 * FRAME)
    assert pull_all(buffer) == [0]

    assert not push(buffer, 2)
    assert push(buffer, 3)
    assert buffer.played_upto == 3 * FRAME


def test_clear_plays_nothing_more() -> None:
    buffer = buffer_of(0, 1, 2, 3)
    assert pull(buffer) == 0

    buffer.clear()

    assert pull(buffer) is None
    assert buffer.buffered == 0
    assert buffer.state is Playout.FILLING
    assert buffer.played_upto == FRAME


def test_clear_drops_what_still_comes_of_the_cancelled_utterance() -> None:
    buffer = buffer_of(0, 1)
    buffer.clear(upto=4 * FRAME)

    assert not push(buffer, 3)
    assert push(buffer, 4)
    assert pull_all(buffer) == [4]


def test_clear_never_goes_back() -> None:
    buffer = buffer_of(0, 1)
    assert pull_all(buffer) == [0, 1]

    buffer.clear(upto=FRAME)

    assert buffer.played_upto == 2 * FRAME


def test_the_limit_is_kept() -> None:
    buffer = JitterBuffer(RATE, limit=2 * TICK)
    push(buffer, 0)
    push(buffer, 1)

    with pytest.raises(RateLimited, match=r"0\.0 s of audio wait"):
        push(buffer, 2)
    assert pull_all(buffer) == [0, 1]


@pytest.mark.parametrize("depth", [-0.1, 60.1, float("nan")])
def test_a_depth_outside_the_limit_is_refused(depth: float) -> None:
    with pytest.raises(ValueError, match="depth must be 0 to"):
        JitterBuffer(RATE, depth)


def test_a_frame_without_samples_is_refused() -> None:
    with pytest.raises(ValueError, match="1 sample or more, not 0"):
        JitterBuffer(RATE).push(0, b"", samples=0, now=0.0)


def test_required_delay_is_the_smallest_that_had_given_no_gap() -> None:
    buffer = JitterBuffer(RATE)
    arrivals = [1.0, 1.01, 1.12, 1.13, 1.14]  # positions in time: 0, .02, .04, .06, .08
    for number, now in enumerate(arrivals):
        push(buffer, number, now)

    assert buffer.required_delay == pytest.approx(0.08)


def test_the_rate_of_arrivals_is_audio_per_second() -> None:
    buffer = JitterBuffer(RATE)
    push(buffer, 0, now=1.0)
    assert buffer.arrival_rate == math.inf

    push(buffer, 25, now=2.0)

    assert buffer.arrival_rate == pytest.approx(0.5)


def test_required_delay_is_measured_anew_for_each_utterance() -> None:
    buffer = JitterBuffer(RATE)
    push(buffer, 0, now=0.0)
    push(buffer, 1, now=1.0)
    buffer.end(2 * FRAME)
    assert buffer.required_delay == pytest.approx(0.98)

    push(buffer, 2, now=10.0)

    assert buffer.required_delay == 0.0
