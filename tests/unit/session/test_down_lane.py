import math

from legato.audio import AudioFormat
from legato.flow.digest import Chain
from legato.protocol.media import AudioFrame
from legato.protocol.messages import StreamEnd, Transcript, UtteranceEnd
from legato.session.down_lane import ACK_PATIENCE, IGNORED_BYTES, DownLane
from legato.session.lane import Item


def lane() -> DownLane:
    return DownLane(AudioFormat(16_000), reliable=True)


def sound(seq: int, utterance: int = 0) -> AudioFrame:
    return AudioFrame(bytes([seq, 0]), seq, sample=seq, utterance=utterance)


def end(seq: int, utterance: int = 0) -> UtteranceEnd:
    return UtteranceEnd(seq=seq, utterance=utterance, reason="done", sample=seq)


def cancel(down: DownLane, utterance: int) -> None:
    """Cancel, and let the log have it."""
    down.cancel(utterance)
    down.stored_cancels = down.cancels


def take_all(down: DownLane) -> list[Item]:
    taken = []
    while (item := down.take(0.0)) is not None:
        taken.append(item)
    return taken


def test_what_a_worker_wrote_is_sent_as_it_is() -> None:
    down = lane()
    said: list[Item] = [sound(0), end(1)]
    down.relay(said)
    assert take_all(down) == said


def test_after_a_cancel_no_frame_of_the_utterance_is_sent() -> None:
    down = lane()
    down.relay([sound(0), sound(1)])
    down.take(0.0)
    cancel(down, 0)
    down.relay([sound(2), end(3), sound(4, utterance=1)])
    assert [item.seq for item in take_all(down)] == [3, 4]


def test_the_end_of_a_cancelled_utterance_names_the_hole() -> None:
    down = lane()
    down.relay([sound(0), sound(1), sound(2)])
    down.take(0.0)
    cancel(down, 0)
    down.relay([end(3)])
    (ended,) = take_all(down)
    assert isinstance(ended, UtteranceEnd)
    assert (ended.reason, ended.sent_seq, ended.seq) == ("cancelled", 0, 3)


def test_a_hole_may_begin_before_the_first_entry() -> None:
    down = lane()
    down.relay([sound(0)])
    cancel(down, 0)
    down.relay([end(1)])
    (ended,) = take_all(down)
    assert isinstance(ended, UtteranceEnd)
    assert ended.sent_seq == -1


def test_what_the_worker_wrote_is_not_touched() -> None:
    down, ended = lane(), end(0)
    cancel(down, 0)
    down.relay([ended])
    take_all(down)
    assert ended.reason == "done"


def test_an_end_that_was_sent_stays_what_it_was() -> None:
    down = lane()
    down.relay([sound(0), end(1)])
    take_all(down)
    cancel(down, 0)
    down.rewind(0, 0.0)
    (_, ended) = take_all(down)
    assert isinstance(ended, UtteranceEnd)
    assert ended.reason == "done"


def test_a_cancel_touches_nothing_that_waits() -> None:
    down = lane()
    down.set_rate(0.0, 0.0)
    down.relay([sound(0), end(1), sound(2, utterance=1), end(3, utterance=1)])
    cancel(down, 0)
    cancel(down, 1)
    assert down.queued == 4
    assert down.ready_at(0.0) == 0.0
    assert [item.seq for item in take_all(down)] == [1, 3]
    assert down.ready_at(0.0) == ACK_PATIENCE


def test_a_cancel_never_goes_back() -> None:
    down = lane()
    cancel(down, 3)
    cancel(down, 1)
    assert down.cancelled == 3


def test_texts_pass_a_cancel() -> None:
    down = lane()
    cancel(down, 0)
    down.relay([Transcript(seq=0, kind="final", text="hello")])
    assert len(take_all(down)) == 1


def test_the_end_has_the_totals_of_what_was_sent() -> None:
    down, chain = lane(), Chain()
    down.relay([sound(0), sound(1), StreamEnd(seq=2, frames=9)])
    *_, last = take_all(down)
    chain.update(bytes([0, 0]))
    chain.update(bytes([1, 0]))
    assert last == StreamEnd(seq=2, frames=2, samples=2, digest=chain.hexdigest())
    assert down.end == last


def test_who_was_sent_much_and_acknowledges_nothing_ignores_it() -> None:
    down = lane()
    down.set_rate(math.inf, 0.0)
    down.relay([AudioFrame(bytes(IGNORED_BYTES // 2), seq) for seq in range(2)])
    take_all(down)
    assert not down.is_ignored(ACK_PATIENCE - 1)
    assert down.is_ignored(ACK_PATIENCE)


def test_who_was_sent_little_does_not() -> None:
    down = lane()
    down.relay([sound(0)])
    take_all(down)
    assert not down.is_ignored(ACK_PATIENCE)
    assert down.stalled_at == 2 * ACK_PATIENCE
