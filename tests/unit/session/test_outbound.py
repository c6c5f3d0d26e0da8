import math

import pytest

from legato.errors import ResumeGap
from legato.flow.digest import BATCH, Chain
from legato.protocol.media import AudioFrame
from legato.protocol.messages import Cancel, Finalize, StreamEnd, Text
from legato.session.lane import RESEND_AFTER, UNNUMBERED, Item
from legato.session.outbound import LEAD, Outbound

RATE_HZ = 8_000
FRAME_SAMPLES = 800


def frame(seq: int = UNNUMBERED, samples: int = FRAME_SAMPLES, **fields: int) -> AudioFrame:
    return AudioFrame(bytes(2 * samples), seq, **fields)  # type: ignore[arg-type]  # numbers of one test


def outbound(*, reliable: bool = True, rate: float = math.inf, keep: float = 60.0) -> Outbound:
    return Outbound(sample_bytes=2, sample_rate=RATE_HZ, reliable=reliable, rate=rate, keep=keep)


def take_all(out: Outbound, now: float = 0.0) -> list[Item]:
    taken = []
    while (item := out.take(now)) is not None:
        taken.append(item)
    return taken


def seqs(items: list[Item]) -> list[int | None]:
    return [item.seq for item in items]


def test_new_entries_share_one_counter() -> None:
    out = outbound()
    out.extend([frame(), Finalize(), frame()])
    assert seqs(take_all(out)) == [0, 1, 2]
    assert out.sent_seq == 2


def test_frames_get_their_positions() -> None:
    out = outbound()
    out.extend([frame(), Finalize(), frame()])
    assert [item.sample for item in take_all(out) if isinstance(item, AudioFrame)] == [0, 800]
    assert out.samples.spent == 1600
    assert out.frames == 2


def test_numbered_entries_keep_their_numbers_and_positions() -> None:
    out = outbound()
    out.extend([frame(4, sample=1_000), Finalize(seq=5), frame(9, sample=5_000)])
    assert seqs(take_all(out)) == [4, 5, 9]
    assert out.next_seq == 10
    assert out.samples.spent == 5_800


def test_an_entry_may_go_before_the_others() -> None:
    out = outbound()
    out.push(frame())
    out.push_first(Cancel(utterance=0))
    assert [type(item) for item in take_all(out)] == [Cancel, AudioFrame]


def test_entries_that_were_not_sent_can_be_dropped() -> None:
    out = outbound()
    out.extend([frame(), Finalize(), frame()])
    out.drop(lambda item: isinstance(item, AudioFrame))
    assert out.queued == 1
    assert seqs(take_all(out)) == [0]


def test_without_credit_audio_waits() -> None:
    out = outbound()
    out.samples.grant(FRAME_SAMPLES)
    out.extend([frame(), frame()])
    assert len(take_all(out)) == 1
    assert out.ready_at(0.0) == math.inf
    out.samples.grant(2 * FRAME_SAMPLES)
    assert out.ready_at(0.0) == 0.0
    assert len(take_all(out)) == 1


def test_credit_counts_positions_not_amounts() -> None:
    out = outbound()
    out.samples.grant(10_000)
    out.push(frame(0, sample=9_900))
    assert out.take(0.0) is None


def test_without_credit_text_waits() -> None:
    out = outbound()
    out.chars.grant(5)
    out.extend([Text(text="hello"), Text(text="!")])
    assert len(take_all(out)) == 1
    assert out.ready_at(0.0) == math.inf
    out.chars.grant(6)
    assert out.ready_at(0.0) == 0.0
    assert len(take_all(out)) == 1


def test_audio_is_paced_after_its_lead() -> None:
    out = outbound(rate=2.0)
    half_second = RATE_HZ // 2
    out.extend([frame(samples=half_second) for _ in range(5)])
    assert len(take_all(out)) == round(LEAD / 0.5)
    assert out.ready_at(0.0) == 0.25
    assert out.take(0.25) is not None


def test_at_rate_0_no_audio_leaves_and_control_does() -> None:
    out = outbound()
    out.set_rate(0.0, 0.0)
    out.push(frame())
    assert out.take(1.0) is None
    assert out.ready_at(1.0) == math.inf
    out.push_first(Cancel(utterance=0))
    assert isinstance(out.take(1.0), Cancel)


def test_an_empty_frame_is_not_paced() -> None:
    out = outbound(rate=0.0)
    out.push(frame(samples=0))
    assert out.ready_at(0.0) == 0.0
    assert out.take(0.0) is not None


def test_a_frame_longer_than_the_lead_goes_when_the_lead_is_free() -> None:
    out = outbound(rate=1.0)
    out.push(frame(samples=5 * RATE_HZ))
    assert out.ready_at(0.0) == 0.0
    assert out.take(0.0) is not None


def test_a_new_rate_holds_from_now_on() -> None:
    out = outbound(rate=1.0)
    out.push(frame(samples=2 * RATE_HZ))
    out.take(0.0)
    out.push(frame())
    out.set_rate(0.1, 0.0)
    assert out.ready_at(0.0) == pytest.approx(1.0)
    out.set_rate(math.inf, 0.0)
    assert out.ready_at(0.0) == 0.0


def test_with_nothing_to_send_there_is_nothing_to_wait_for() -> None:
    assert outbound().ready_at(0.0) == math.inf
    assert outbound().take(0.0) is None


def test_what_is_done_with_is_not_kept() -> None:
    out = outbound()
    out.extend([frame(), frame()])
    take_all(out)
    out.acknowledge(1, 0, 0.0)
    assert out.kept_samples == FRAME_SAMPLES
    assert not out.complete


@pytest.mark.parametrize(("received", "committed"), [(10, -1), (-1, 10)])
def test_a_peer_cannot_have_more_than_was_sent(received: int, committed: int) -> None:
    out = outbound(keep=0.0)
    out.push(frame())
    take_all(out)
    out.acknowledge(received, committed, 0.0)
    out.push(frame())
    take_all(out)
    assert out.kept_samples == FRAME_SAMPLES


def test_what_is_done_with_was_received() -> None:
    out = outbound(reliable=False)
    out.extend([frame(), frame()])
    take_all(out)
    out.acknowledge(-1, 9, 0.0)
    out.repeat_if_stalled(100.0)
    assert out.take(100.0) is None


def test_a_rewind_sends_the_same_again_before_anything_new() -> None:
    out = outbound()
    out.extend([frame(), frame(), frame()])
    sent = take_all(out)
    out.push(frame())
    out.rewind(1, 0.0)
    assert out.ready_at(0.0) == 0.0
    again = take_all(out)
    assert again[:2] == sent[1:]
    assert seqs(again) == [1, 2, 3]
    assert out.frames == 4


def test_what_is_kept_no_more_cannot_be_sent_again() -> None:
    out = outbound()
    out.push(frame())
    take_all(out)
    out.acknowledge(0, 0, 0.0)
    with pytest.raises(ResumeGap) as caught:
        out.rewind(0, 0.0)
    assert caught.value.missing == (0, 1)


def test_what_was_never_sent_cannot_be_sent_again() -> None:
    out = outbound()
    out.push(frame())
    take_all(out)
    out.rewind(1, 0.0)
    with pytest.raises(ResumeGap, match="expects entry 2, only 1 were sent") as caught:
        out.rewind(2, 0.0)
    assert caught.value.missing == (1, 2)


def test_where_order_is_not_kept_an_old_request_to_rewind_is_known_as_such() -> None:
    out = outbound(reliable=False)
    out.extend([frame(), frame(), frame()])
    take_all(out)
    out.acknowledge(1, 1, 0.0)
    out.rewind(0, 0.0)
    assert seqs(take_all(out)) == [2]


def test_over_a_link_that_loses_silence_is_loss() -> None:
    out = outbound(reliable=False)
    out.extend([frame(), frame()])
    take_all(out, 1.0)
    out.acknowledge(0, -1, 2.0)
    assert out.ready_at(2.0) == 2.0 + RESEND_AFTER
    out.repeat_if_stalled(2.0 + RESEND_AFTER)
    assert seqs(take_all(out)) == [1]


def test_silence_counts_from_the_last_repeat() -> None:
    out = outbound(reliable=False)
    out.push(frame())
    take_all(out, 0.0)
    for now, repeated in ((1.9, []), (2.0, [0]), (3.9, []), (4.0, [0])):
        out.repeat_if_stalled(now)
        assert seqs(take_all(out, now)) == repeated


def test_silence_counts_from_the_last_rewind() -> None:
    out = outbound(reliable=False)
    out.push(frame())
    take_all(out, 0.0)
    out.rewind(0, 1.5)
    take_all(out, 1.5)
    assert out.ready_at(1.5) == 1.5 + RESEND_AFTER


def test_silence_counts_from_the_first_entry_after_all_had_arrived() -> None:
    out = outbound(reliable=False)
    out.push(frame())
    take_all(out, 0.0)
    out.acknowledge(0, -1, 1.0)
    out.push(frame())
    take_all(out, 50.0)
    assert out.ready_at(50.0) == 50.0 + RESEND_AFTER


def test_an_ack_that_says_nothing_new_is_no_progress() -> None:
    out = outbound(reliable=False)
    out.extend([frame(), frame()])
    take_all(out, 0.0)
    out.acknowledge(0, -1, 0.0)
    out.acknowledge(0, -1, 1.9)
    assert out.ready_at(1.9) == RESEND_AFTER


def test_what_was_received_is_not_repeated() -> None:
    out = outbound(reliable=False)
    out.push(frame())
    take_all(out, 0.0)
    out.acknowledge(0, -1, 0.0)
    out.repeat_if_stalled(100.0)
    assert out.take(100.0) is None
    assert out.ready_at(100.0) == math.inf


def test_a_rewind_to_what_comes_next_leaves_nothing_to_repeat() -> None:
    out = outbound(reliable=False)
    out.push(frame())
    take_all(out, 0.0)
    out.acknowledge(0, 0, 0.0)
    out.rewind(1, 0.0)
    out.repeat_if_stalled(100.0)
    assert out.ready_at(100.0) == math.inf
    out.push(frame())
    take_all(out, 100.0)
    assert out.ready_at(100.0) == 100.0 + RESEND_AFTER


def test_a_reliable_link_repeats_nothing_by_itself() -> None:
    out = outbound()
    out.push(frame())
    take_all(out, 0.0)
    out.repeat_if_stalled(100.0)
    assert out.ready_at(100.0) == math.inf


def test_a_mark_says_where_it_stands_among_the_samples() -> None:
    out = outbound()
    out.extend([frame(), Finalize(), frame(), Finalize(sample=5)])
    marks = [item.sample for item in take_all(out) if isinstance(item, Finalize)]
    assert marks == [FRAME_SAMPLES, 5]


def test_without_samples_a_mark_stands_nowhere() -> None:
    out = outbound()
    out.push(Finalize())
    assert take_all(out) == [Finalize(seq=0)]


def test_the_end_has_the_totals() -> None:
    out = outbound()
    out.extend([frame(), frame(), StreamEnd()])
    assert take_all(out)[-1] == StreamEnd(seq=2, frames=2, samples=2 * FRAME_SAMPLES)


def test_the_digest_is_over_what_was_sent_once() -> None:
    out, expected = outbound(), Chain()
    out.chain = Chain()
    payloads = [bytes([number, 0]) for number in range(BATCH + 3)]
    out.extend([AudioFrame(payload, UNNUMBERED) for payload in payloads])
    take_all(out)
    out.rewind(0, 0.0)
    take_all(out)
    for payload in payloads:
        expected.update(payload)
    assert out.chain.hexdigest() == expected.hexdigest()


def test_where_nobody_asks_there_is_no_digest() -> None:
    out = outbound()
    out.extend([frame(), StreamEnd()])
    end = take_all(out)[-1]
    assert isinstance(end, StreamEnd)
    assert end.digest is None


def test_cancelled_frames_are_dropped_when_their_turn_comes() -> None:
    out = outbound()
    out.set_rate(0.0, 0.0)
    out.extend([frame(), Finalize(), frame()])
    out.cancelled = 0
    assert out.queued == 3
    assert out.ready_at(1.0) == 1.0
    assert take_all(out) == [Finalize(seq=0)]
    assert (out.queued, out.kept) == (0, 1)


def test_what_nobody_acknowledges_counts_as_stalled() -> None:
    out = Outbound(sample_bytes=2, sample_rate=RATE_HZ, patience=5.0)
    assert out.stalled_at == math.inf
    out.push(frame())
    out.take(1.0)
    assert out.stalled_at == out.ready_at(2.0) == 6.0
    out.acknowledge(0, 0, 3.0)
    assert out.stalled_at == math.inf


def test_the_last_entry_is_the_last_that_is_queued() -> None:
    out = outbound()
    told = [out.last_seq]
    out.extend([frame(0), Finalize(seq=1)])
    told.append(out.last_seq)
    take_all(out)
    told.append(out.last_seq)
    out.push(Finalize())
    told.append(out.last_seq)
    assert told == [-1, 1, 1, 1]


def test_what_has_left_goes_before_what_follows() -> None:
    out = outbound()
    out.extend([frame(), frame(), frame()])
    told = [out.left_seq]
    take_all(out)
    told.append(out.left_seq)
    out.rewind(1, 0.0)
    told.append(out.left_seq)
    out.take(0.0)
    told.append(out.left_seq)
    assert told == [-1, 2, 0, 1]


def test_on_a_link_that_reorders_only_what_has_come_has_left() -> None:
    out = outbound(reliable=False)
    out.extend([frame(), frame()])
    take_all(out)
    out.acknowledge(0, -1, 0.0)
    assert (out.left_seq, out.peer_seq, out.sent_seq) == (0, 0, 1)


def test_a_packet_counts_its_samples_and_an_empty_payload_none() -> None:
    out = Outbound(sample_bytes=0, packet_samples=320, sample_rate=RATE_HZ)
    for payload in (b"a", b"", b"longer"):
        out.push(AudioFrame(payload, UNNUMBERED))
    out.samples.grant(320)
    first, second = out.take(0.0), out.take(0.0)
    assert isinstance(first, AudioFrame)
    assert isinstance(second, AudioFrame)
    assert (first.sample, second.sample, out.take(0.0)) == (0, 320, None)
    assert out.ready_at(0.0) == math.inf
