import math

import pytest

from legato.audio import AudioFormat, Codec, PayloadFormat
from legato.errors import ResumeGap
from legato.flow.digest import BATCH, Chain
from legato.flow.places import DownPlace, Struck
from legato.protocol.media import AudioFrame
from legato.protocol.messages import StreamEnd, Transcript, UtteranceEnd
from legato.session.down_lane import ACK_PATIENCE, IGNORED_BYTES, DownLane
from legato.session.lane import INF, Item


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


def test_a_lane_may_begin_in_the_midst_of_a_stream() -> None:
    down = lane()
    down.begin_at(100, 3)
    said: list[Item] = [AudioFrame(b"ab", 0, sample=100, utterance=3), StreamEnd(seq=1)]
    down.relay(said)
    assert take_all(down)[0] == said[0]
    assert down.end is not None
    assert (down.end.samples, down.end.frames) == (101, 1)
    down.cancel(2)
    assert down.cancels == 0


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


# a cancel waits for the log


def test_the_end_of_a_cancelled_utterance_waits_until_the_cancel_is_stored() -> None:
    down = lane()
    down.relay([sound(0), sound(1), end(2), sound(3, utterance=1)])
    down.take(0.0)
    down.cancel(0)
    assert take_all(down) == []
    assert down.queued == 2
    assert down.ready_at(0.0) == ACK_PATIENCE
    down.stored_cancels = down.cancels
    assert down.ready_at(0.0) == 0.0
    assert [item.seq for item in take_all(down)] == [2, 3]


def test_nothing_else_waits_for_a_cancel() -> None:
    down = lane()
    down.relay([end(0), sound(1, utterance=1), end(2, utterance=1)])
    take_all(down)
    down.relay([sound(3, utterance=2), end(4, utterance=3)])
    down.cancel(2)
    assert [item.seq for item in take_all(down)] == [4]


def test_what_a_cancel_struck_is_known_until_the_end_has_passed() -> None:
    down = lane()
    down.relay([sound(0), sound(1), end(2)])
    down.take(0.0)
    cancel(down, 0)
    assert list(down.struck) == [Struck(0, 0)]
    take_all(down)
    down.acknowledge(0, -1, 0.0)
    assert down.take_place() is None  # the digest was not known there
    assert list(down.struck) == [Struck(0, 0)]
    down.acknowledge(2, -1, 0.0)
    place = down.take_place()
    assert place is not None
    assert (place.seq, place.ended) == (2, 0)
    assert list(down.struck) == []


def test_a_cancel_of_what_has_ended_strikes_nothing() -> None:
    down = lane()
    down.relay([sound(0), end(1)])
    take_all(down)
    down.cancel(0)
    assert (down.cancels, list(down.struck)) == (0, [])


# places


def test_a_place_is_news_once_and_never_before_the_client_has_passed_it() -> None:
    down = lane()
    down.set_rate(INF, 0.0)
    down.relay([sound(seq) for seq in range(BATCH + 2)])
    take_all(down)
    down.acknowledge(BATCH - 2, -1, 0.0)
    assert down.take_place() is None
    down.acknowledge(BATCH + 1, -1, 0.0)
    chain = Chain()
    for seq in range(BATCH):
        chain.update(bytes([seq, 0]))
    assert down.take_place() == DownPlace(BATCH - 1, BATCH, BATCH, chain.digest, -1)
    assert down.take_place() is None


# from another server


def log() -> list[Item]:
    """Two utterances and the end."""
    first: list[Item] = [sound(0), sound(1), sound(2), end(3)]
    return [*first, sound(4, 1), sound(5, 1), end(6, 1), StreamEnd(seq=7)]


def chain_over(*seqs: int) -> Chain:
    chain = Chain()
    for seq in seqs:
        chain.update(bytes([seq, 0]))
    return chain


def restored(
    received_seq: int, *struck: Struck, place: DownPlace | None = None, trimmed: int = -1
) -> DownLane:
    down = lane()
    down.relay([item for item in log() if (item.seq or 0) > trimmed])
    down.restore(place or DownPlace(), struck, received_seq=received_seq, now=0.0)
    return down


def last_of(items: list[Item]) -> StreamEnd:
    last = items[-1]
    assert isinstance(last, StreamEnd)
    return last


@pytest.mark.parametrize("received_seq", range(-1, 7))
def test_wherever_the_client_was_left_the_rest_follows(received_seq: int) -> None:
    taken = take_all(restored(received_seq))
    assert [item.seq for item in taken] == list(range(received_seq + 1, 8))
    last = last_of(taken)
    assert (last.frames, last.samples) == (5, 6)
    assert last.digest == chain_over(0, 1, 2, 4, 5).hexdigest()


def test_who_holds_all_is_sent_nothing_and_may_say_so() -> None:
    down = restored(7)
    assert take_all(down) == []
    assert down.end is not None
    assert down.end.digest == chain_over(0, 1, 2, 4, 5).hexdigest()


@pytest.mark.parametrize("trimmed", range(-1, 3))
def test_what_is_passed_over_may_have_been_trimmed(trimmed: int) -> None:
    place = DownPlace(2, 3, 3, chain_over(0, 1, 2).digest)
    taken = take_all(restored(3, place=place, trimmed=trimmed))
    assert [item.seq for item in taken] == [4, 5, 6, 7]
    assert last_of(taken).digest == chain_over(0, 1, 2, 4, 5).hexdigest()


def test_who_lacks_what_is_passed_over_cannot_go_on() -> None:
    with pytest.raises(ResumeGap):
        restored(1, place=DownPlace(2, 3, 3, chain_over(0, 1, 2).digest))


def test_who_holds_what_is_not_here_cannot_go_on() -> None:
    with pytest.raises(ResumeGap):
        restored(8)


@pytest.mark.parametrize("received_seq", [0, 3, 4, 6])
def test_what_was_struck_counts_for_nothing(received_seq: int) -> None:
    taken = take_all(restored(received_seq, Struck(0, 0)))
    wanted = [seq for seq in (0, 3, 4, 5, 6, 7) if seq > received_seq]
    assert [item.seq for item in taken] == wanted
    assert last_of(taken).digest == chain_over(0, 4, 5).hexdigest()
    for item in taken:
        if isinstance(item, UtteranceEnd) and item.utterance == 0:
            assert (item.reason, item.sent_seq) == ("cancelled", 0)


def test_what_was_sent_before_a_cancel_is_sent_to_a_client_that_lacks_it() -> None:
    down = restored(0, Struck(0, 1))
    taken = take_all(down)
    assert [item.seq for item in taken] == [1, 3, 4, 5, 6, 7]
    assert isinstance(taken[1], UtteranceEnd)
    assert taken[1].sent_seq == 1
    # Yet another server counts the same.
    again = take_all(restored(3, *down.struck or (Struck(0, 1),)))
    assert last_of(again).digest == last_of(taken).digest


def test_an_end_that_is_sent_again_tells_what_its_own_cancel_struck() -> None:
    taken = take_all(restored(0, Struck(0, 0), Struck(1, 4)))
    assert [item.seq for item in taken] == [3, 4, 6, 7]
    ends = [item for item in taken if isinstance(item, UtteranceEnd)]
    assert [(item.reason, item.sent_seq) for item in ends] == [("cancelled", 0), ("cancelled", 4)]


def test_an_end_before_the_cancel_stays_what_it_was() -> None:
    taken = take_all(restored(2, Struck(1, 4)))
    assert isinstance(taken[0], UtteranceEnd)
    assert (taken[0].seq, taken[0].reason) == (3, "done")
    assert [item.seq for item in taken] == [3, 4, 6, 7]


def test_a_restored_lane_is_paced_again_and_cancels_on() -> None:
    down = lane()
    down.relay([AudioFrame(bytes(32_000), seq, sample=16_000 * seq) for seq in range(10)])
    down.restore(DownPlace(), [], received_seq=4, now=0.0)
    assert [item.seq for item in take_all(down)] == [5, 6]  # 2 s ahead at the most
    cancel(down, 0)
    assert list(down.struck) == [Struck(0, 6)]
    down.relay([end(10)])
    (ended,) = take_all(down)
    assert isinstance(ended, UtteranceEnd)
    assert ended.sent_seq == 6


# packets

PACKET = b"packet"
PACKET_SAMPLES = 320


def packets() -> DownLane:
    return DownLane(PayloadFormat(16_000, 1, Codec.OPUS, 20), reliable=True)


def packet(seq: int, sample: int, *, utterance: int = 0, last: bool = False) -> AudioFrame:
    return AudioFrame(PACKET, seq, last, sample=sample, utterance=utterance)


def test_a_packet_stands_for_its_samples_however_many_bytes_it_has() -> None:
    down = packets()
    down.relay([packet(0, 0), packet(1, PACKET_SAMPLES), AudioFrame(b"", 2, sample=640)])
    take_all(down)
    assert down.samples.spent == 2 * PACKET_SAMPLES


def test_credit_and_pace_count_the_samples_of_packets() -> None:
    down = packets()
    down.samples.grant(PACKET_SAMPLES)
    down.relay([packet(0, 0), packet(1, PACKET_SAMPLES)])
    assert len(take_all(down)) == 1
    down.samples.grant(2 * PACKET_SAMPLES)
    assert len(take_all(down)) == 1


def test_an_utterance_ends_within_its_last_packet() -> None:
    down = packets()
    down.relay([packet(0, 0), packet(1, PACKET_SAMPLES, last=True)])
    take_all(down)
    spent = [down.samples.spent]
    ended = UtteranceEnd(seq=2, utterance=0, reason="done", sample=PACKET_SAMPLES + 7)
    down.relay([ended, packet(3, PACKET_SAMPLES + 7, utterance=1)])
    take_all(down)
    spent.append(down.samples.spent)
    assert spent == [PACKET_SAMPLES, 2 * PACKET_SAMPLES + 7]
    down.relay([StreamEnd(seq=4)])
    take_all(down)
    assert down.end is not None
    assert (down.end.samples, down.end.frames) == (2 * PACKET_SAMPLES + 7, 3)
