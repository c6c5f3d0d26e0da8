import math

import pytest

from legato.audio import AudioFormat
from legato.errors import MessageTooLarge, UnexpectedMessage
from legato.protocol.codec import decode_client
from legato.protocol.media import AudioFrame, decode_frame
from legato.protocol.messages import Ack, Finalize, Flush, Text
from legato.session.inbound import Verdict
from legato.session.lane import RESEND_AFTER, UNNUMBERED
from legato.session.outbound import Outbound
from legato.session.states import StreamSignal, StreamState
from legato.session.stream import ACK_INTERVAL, REORDER_WAIT, Stream, seq_of
from tests.unit.session.ends import PCM, start_of


class PlainStream(Stream):
    """Acknowledges what it has received."""

    def _make_ack(self) -> Ack:
        return Ack(stream=self.number, received_seq=self.inbound.expected - 1)


def stream_of(*, reliable: bool = True, framing: str = "protobuf") -> Stream:
    out = Outbound(sample_bytes=2, sample_rate=16_000, reliable=reliable)
    start = start_of(7, framing=framing)
    return PlainStream(start, AudioFormat(16_000), out, reliable=reliable)


def taken(stream: Stream, room_bytes: int = 10_000) -> list[str | bytes]:
    frames: list[str | bytes] = []
    stream.take_frames(frames, 0.0, room_bytes=room_bytes)
    return frames


def test_entries_leave_while_it_starts_and_while_it_is_open() -> None:
    stream, sending = stream_of(), []
    for signal in (StreamSignal.STARTED, StreamSignal.LOSE):
        sending.append(stream.sending)
        stream.signal(signal)
    assert [*sending, stream.sending] == [True, True, False]


def test_a_signal_that_does_not_fit_is_refused() -> None:
    with pytest.raises(UnexpectedMessage):
        stream_of().signal(StreamSignal.RESUMED)


def test_a_stream_that_ended_or_failed_is_over() -> None:
    open_one, failed = stream_of(), stream_of()
    failed.signal(StreamSignal.FAIL)
    assert (open_one.over, failed.over) == (False, True)
    assert failed.state is StreamState.FAILED


def test_what_was_delivered_is_taken_once() -> None:
    stream, frame = stream_of(), AudioFrame(PCM)
    assert stream.accept(0, frame, 0.0) is Verdict.DELIVERED
    assert stream.take_ready() == [frame]
    assert stream.take_ready() == []


def test_a_duplicate_is_acknowledged_again() -> None:
    stream = stream_of()
    stream.accept(0, AudioFrame(PCM), 0.0)
    stream.take_ack(1.0)
    stream.accept(0, AudioFrame(PCM), 1.01)
    assert stream.ack_at == pytest.approx(1.0 + ACK_INTERVAL)


def test_a_gap_is_not_waited_for_where_order_is_kept() -> None:
    stream = stream_of()
    assert stream.accept(1, AudioFrame(PCM), 0.0) is Verdict.GAP
    assert stream.give_up_at == math.inf


def test_entries_wait_a_while_for_a_missing_one() -> None:
    stream = stream_of(reliable=False)
    stream.accept(1, AudioFrame(PCM), 1.0)
    stream.accept(3, AudioFrame(PCM), 1.1)
    assert stream.give_up_at == 1.0 + REORDER_WAIT
    stream.accept(0, AudioFrame(PCM), 1.15)
    assert stream.give_up_at == 1.15 + REORDER_WAIT
    stream.accept(2, AudioFrame(PCM), 1.2)
    assert stream.give_up_at == math.inf


def test_an_ack_is_owed_within_100_ms_of_the_last_one() -> None:
    stream = stream_of()
    stream.owe_ack(5.0)
    assert stream.ack_at == 5.0
    stream.take_ack(5.0)
    assert stream.ack_at == math.inf
    stream.owe_ack(5.02)
    stream.owe_ack(5.04)
    assert stream.ack_at == 5.0 + ACK_INTERVAL


def test_an_ack_may_be_owed_at_once() -> None:
    stream = stream_of()
    stream.take_ack(5.0)
    stream.owe_ack(5.01)
    stream.owe_ack(5.02, at_once=True)
    assert stream.ack_at == 5.02


def test_over_a_link_that_loses_the_last_ack_is_repeated() -> None:
    stream = stream_of(reliable=False)
    stream.take_ack(5.0)
    assert stream.ack_at == 5.0 + RESEND_AFTER


def test_entries_are_coded_with_the_number_of_the_stream() -> None:
    stream = stream_of()
    stream.out.extend([AudioFrame(PCM, UNNUMBERED), Flush(stream=7), Finalize(stream=3)])
    audio, flush, finalize = taken(stream)
    assert isinstance(audio, bytes)
    assert decode_frame(audio).stream == 7
    assert decode_client(str(flush)) == Flush(stream=7, seq=1)
    assert decode_client(str(finalize)) == Finalize(stream=7, seq=2, sample=320)


def test_raw_audio_is_sent_bare() -> None:
    stream = stream_of(framing="raw")
    stream.out.push(AudioFrame(b"abcd", UNNUMBERED))
    assert taken(stream) == [b"abcd"]


def test_entries_stop_when_the_room_is_taken() -> None:
    stream = stream_of()
    stream.out.extend([AudioFrame(PCM, UNNUMBERED) for _ in range(3)])
    assert len(taken(stream, room_bytes=700)) == 2
    assert taken(stream, room_bytes=0) == []


def test_an_entry_that_cannot_be_coded_is_an_error() -> None:
    stream = stream_of()
    stream.out.push(Text(text="x" * 300_000))
    with pytest.raises(MessageTooLarge):
        taken(stream)


def test_it_is_looked_at_when_the_first_of_its_timers_is_due() -> None:
    stream = stream_of()
    assert stream.next_timer(0.0) == math.inf
    stream.give_up_at = 3.0
    assert stream.next_timer(0.0) == 3.0
    stream.ack_at = 2.0
    assert stream.next_timer(0.0) == 2.0
    stream.out.push(Flush())
    assert stream.next_timer(0.0) == 0.0


def test_while_suspended_it_waits_for_nothing() -> None:
    stream = stream_of()
    stream.out.push(Flush())
    stream.signal(StreamSignal.LOSE)
    assert stream.next_timer(0.0) == math.inf


def test_an_entry_needs_a_number() -> None:
    assert seq_of(Flush(seq=3)) == 3
    with pytest.raises(UnexpectedMessage, match="need seq, from 0"):
        seq_of(Flush())


@pytest.mark.parametrize(
    ("codec", "payload", "samples"),
    [
        ("pcm_s16le", PCM, len(PCM) // 2),
        ("mulaw", PCM, len(PCM)),
        ("opus", b"p", 320),
        ("opus", b"", 0),
    ],
)
def test_the_samples_of_a_payload_depend_on_the_codec(
    codec: str, payload: bytes, samples: int
) -> None:
    out = Outbound(sample_bytes=2, sample_rate=16_000)
    stream = PlainStream(start_of(7, codec=codec), AudioFormat(16_000), out, reliable=True)
    assert stream.samples_in(payload) == samples
