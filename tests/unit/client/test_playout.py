import pytest
from hypothesis import given
from hypothesis import strategies as st

from legato.audio import AudioChunk, AudioFormat
from legato.client.playout import Playout
from legato.errors import RateLimited
from legato.flow.start import AdaptiveStart

FORMAT = AudioFormat(8_000)


def chunk(sample: int, samples: int = 160, *, value: int = 1) -> AudioChunk:
    return AudioChunk(bytes([value, 0]) * samples, FORMAT, sample)


def test_the_device_gets_as_many_samples_as_it_asks_for() -> None:
    playout = Playout(FORMAT)
    playout.push(chunk(0, value=1), now=0.0)
    playout.push(chunk(160, value=2), now=0.0)

    assert playout.pull(100, now=0.0) == b"\1\0" * 100
    assert playout.played_upto == 100
    assert playout.pull(100, now=0.1) == b"\1\0" * 60 + b"\2\0" * 40
    assert playout.pull(200, now=0.2) == b"\2\0" * 120 + bytes(160)
    assert playout.buffered == 0


def test_nothing_is_heard_before_the_depth_is_there() -> None:
    playout = Playout(FORMAT, depth=0.04)
    playout.push(chunk(0), now=0.0)
    assert playout.pull(160, now=0.0) == bytes(320)

    playout.push(chunk(160), now=0.02)

    assert playout.buffered == pytest.approx(0.04)
    assert playout.pull(160, now=0.02) == b"\1\0" * 160


def test_a_gap_is_counted_and_timed() -> None:
    playout = Playout(FORMAT)
    playout.push(chunk(0), now=0.0)
    playout.pull(160, now=0.0)
    playout.pull(160, now=0.02)
    playout.push(chunk(160), now=0.1)
    playout.pull(160, now=0.1)

    assert playout.underruns == 1
    assert playout.stalled == pytest.approx(0.08)


def test_the_end_is_no_gap() -> None:
    playout = Playout(FORMAT, depth=1.0)
    playout.push(chunk(0), now=0.0)
    playout.end(160)

    assert playout.pull(320, now=0.0) == b"\1\0" * 160 + bytes(320)
    playout.pull(160, now=1.0)
    assert playout.underruns == 0


def test_not_a_sample_is_heard_after_a_clear() -> None:
    playout = Playout(FORMAT)
    playout.push(chunk(0), now=0.0)
    playout.pull(10, now=0.0)

    playout.clear(upto=320)

    assert not playout.push(chunk(160), now=0.0)
    assert playout.push(chunk(320, value=3), now=0.0)
    assert playout.pull(160, now=0.0) == b"\3\0" * 160


def test_the_depth_adapts_to_what_utterances_needed() -> None:
    start, once = AdaptiveStart(lead=True), AdaptiveStart(lead=True)
    playout = Playout(FORMAT, depth=start)
    assert playout.depth == start.depth()
    playout.push(chunk(0), now=0.0)
    playout.push(chunk(160), now=0.52)

    playout.end(320)
    playout.end(320)
    playout.push(chunk(320), now=9.0)

    once.learn(0.5)
    assert playout.depth == pytest.approx(once.depth())
    assert Playout(FORMAT, depth=start).depth == playout.depth


def test_a_slow_link_holds_back_what_it_will_fall_behind() -> None:
    start = AdaptiveStart(lead=True)
    playout = Playout(FORMAT, depth=start)
    playout.push(chunk(0, 800), now=0.0)
    playout.push(chunk(800), now=0.5)

    assert playout.depth == pytest.approx(start.depth(0.2))
    assert playout.pull(160, now=0.5) == bytes(320)


def test_nothing_is_learned_from_what_was_cleared() -> None:
    start = AdaptiveStart(lead=True)
    playout = Playout(FORMAT, depth=start)
    playout.push(chunk(0), now=0.0)
    playout.push(chunk(160), now=0.9)

    playout.clear(upto=320)
    playout.end(320)

    assert start.depth() == AdaptiveStart(lead=True).depth()


def test_a_depth_that_is_set_stays() -> None:
    playout = Playout(FORMAT, depth=AdaptiveStart(lead=True))

    playout.depth = 0.5
    playout.push(chunk(0), now=0.0)

    assert playout.depth == 0.5


def test_the_depth_can_be_tuned_while_it_plays() -> None:
    playout = Playout(FORMAT, depth=0.5)

    playout.depth = 0.0
    playout.push(chunk(0), now=0.0)

    assert playout.depth == 0.0
    assert playout.pull(160, now=0.0) == b"\1\0" * 160


def test_what_is_held_is_bounded_and_nothing_is_nothing() -> None:
    playout = Playout(FORMAT, limit=0.02)
    assert not playout.push(chunk(0, 0), now=0.0)
    playout.push(chunk(0), now=0.0)

    with pytest.raises(RateLimited):
        playout.push(chunk(160), now=0.0)


@given(st.lists(st.integers(1, 400), max_size=20), st.lists(st.integers(1, 400), max_size=40))
def test_every_sample_is_heard_once_and_in_order(pushed: list[int], pulled: list[int]) -> None:
    playout = Playout(FORMAT)
    sent = b""
    for size in pushed:
        at = len(sent) // 2
        pcm = b"".join((at + i + 1).to_bytes(2, "little") for i in range(size))
        playout.push(AudioChunk(pcm, FORMAT, at), now=0.0)
        sent += pcm

    heard = b"".join(playout.pull(size, now=0.0) for size in pulled)

    assert len(heard) == 2 * sum(pulled)
    assert heard[: len(sent)] == sent[: len(heard)]
    assert heard[len(sent) :].strip(b"\0") == b""
