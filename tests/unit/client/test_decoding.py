from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from legato.audio import AudioFormat, Codec, PayloadFormat
from legato.client.channel import Channel
from legato.client.decoding import PacketDecoder, decoder_for
from legato.codecs.g711 import law
from legato.codecs.opus import OpusEncoder
from legato.errors import BadAudio
from legato.protocol.media import AudioFrame
from legato.protocol.messages import StreamStart, SwitchDown, SwitchUp, UtteranceEnd
from legato.session.client_stream import ClientStream
from legato.session.lane import Item
from tests.unit.client.fakes import FakeCarrier

OPUS = PayloadFormat(16_000, 1, Codec.OPUS, 20)
FRAME = 320


def sine(samples: int, frequency_hz: float = 300) -> bytes:
    wave = 9_000 * np.sin(2 * np.pi * frequency_hz * np.arange(samples) / 16_000)
    pcm: NDArray[np.int16] = np.rint(wave).astype("<i2")
    return pcm.tobytes()


def packets_of(pcm: bytes) -> list[bytes]:
    encoder = OpusEncoder(OPUS, 24_000)
    return encoder.push(pcm) + encoder.finish()


def spoken(pcm: bytes, *, utterance: int = 0, sample: int = 0, seq: int = 0) -> list[Item]:
    """What a server sends of an utterance."""
    packets = packets_of(pcm)
    items: list[Item] = [SwitchUp(seq=seq, rung="opus-24", sample=sample)]
    for number, packet in enumerate(packets):
        items.append(
            AudioFrame(
                packet,
                seq + 1 + number,
                number == len(packets) - 1,
                sample=sample + number * FRAME,
                utterance=utterance,
            )
        )
    end = sample + len(pcm) // 2
    items.append(
        UtteranceEnd(seq=seq + 1 + len(packets), utterance=utterance, reason="done", sample=end)
    )
    return items


def decoded(decoder: PacketDecoder, items: Sequence[Item]) -> list[Item]:
    return [heard for item in items for heard in decoder.take(item)]


def frames(items: Sequence[Item]) -> list[AudioFrame]:
    return [item for item in items if isinstance(item, AudioFrame)]


def pcm_of(items: Sequence[Item]) -> bytes:
    return b"".join(frame.payload for frame in frames(items))


def likeness(pcm: bytes, other: bytes) -> float:
    one, two = (np.frombuffer(pcm, "<i2").astype(float) for pcm in (pcm, other))
    return float(one @ two / np.sqrt((one @ one) * (two @ two)))


def check_places(items: Sequence[Item], sample: int = 0) -> None:
    for frame in frames(items):
        assert frame.sample == sample
        sample += len(frame.payload) // 2


@pytest.mark.parametrize("samples", [1, 319, 320, 321, 4_000])
def test_an_utterance_has_exactly_its_samples(samples: int) -> None:
    heard = decoded(PacketDecoder(OPUS), spoken(sine(samples)))
    assert len(pcm_of(heard)) == 2 * samples
    check_places(heard)
    assert [type(item) for item in heard].count(UtteranceEnd) == 1
    assert isinstance(heard[-1], UtteranceEnd)
    assert [frame.last for frame in frames(heard)] == [False] * (len(frames(heard)) - 1) + [True]


def test_the_next_utterance_begins_where_the_last_one_ended() -> None:
    first, second = sine(1_001), sine(2_002, 500)
    decoder = PacketDecoder(OPUS)
    items = spoken(first) + spoken(second, utterance=1, sample=1_001, seq=9)
    heard = decoded(decoder, items)
    check_places(heard)
    assert len(pcm_of(heard)) == len(first + second)
    assert likeness(pcm_of(heard), first + second) > 0.9
    assert {frame.utterance for frame in frames(heard)} == {0, 1}


def test_a_decoder_begins_anew_with_another_encoder() -> None:
    pcm = sine(3_200)
    one, two = packets_of(pcm[: 2 * 1_600]), packets_of(pcm[2 * 1_600 :])
    items: list[Item] = [SwitchUp(seq=0, rung="opus-24", sample=0)]
    items += [AudioFrame(packet, 1, sample=n * FRAME) for n, packet in enumerate(one)]
    items.append(SwitchDown(seq=7, rung="opus-16", sample=1_600))
    items += [AudioFrame(packet, 8, sample=1_600 + n * FRAME) for n, packet in enumerate(two)]
    items += [AudioFrame(b"", 20, True, sample=3_200)]
    items += [UtteranceEnd(seq=21, utterance=0, reason="done", sample=3_200)]
    heard = decoded(PacketDecoder(OPUS), items)
    check_places(heard)
    assert len(pcm_of(heard)) == len(pcm)
    assert likeness(pcm_of(heard), pcm) > 0.9


def test_a_rung_without_an_encoder_of_its_own_goes_on() -> None:
    decoder = PacketDecoder(OPUS)
    start, *items = spoken(sine(3_200))
    items.insert(3, SwitchDown(seq=5, rung="opus-16", sample=960, reset=False))
    heard = decoded(decoder, [start, *items])
    assert pcm_of(heard) == pcm_of(decoded(PacketDecoder(OPUS), spoken(sine(3_200))))


def test_frames_that_do_not_follow_have_a_decoder_of_their_own() -> None:
    items = [item for item in spoken(sine(3_200)) if not isinstance(item, SwitchUp)]
    heard = decoded(PacketDecoder(OPUS), items[5:])
    check_places(heard, 5 * FRAME)
    assert len(pcm_of(heard)) == 2 * (3_200 - 5 * FRAME)
    decoder = PacketDecoder(OPUS)
    heard = decoded(decoder, items[:2] + items[5:])
    assert [frame.sample for frame in frames(heard)][-1] < 3_200
    assert len(pcm_of(heard)) == 2 * (3_200 - 3 * FRAME)


def test_what_another_server_sends_again_of_the_last_packet_comes_once() -> None:
    pcm = sine(1_000)
    items = spoken(pcm)
    lost, again = items[:-1], spoken(pcm[2 * 960 :], sample=960)
    decoder = PacketDecoder(OPUS)
    heard = decoded(decoder, lost + again)
    check_places(heard)
    assert len(pcm_of(heard)) == len(pcm)


def test_of_a_cancelled_utterance_nothing_is_held_back() -> None:
    decoder = PacketDecoder(OPUS)
    items = spoken(sine(3_200))[:4]
    items.append(UtteranceEnd(seq=9, utterance=0, reason="cancelled", sample=3_000))
    items += spoken(sine(640), utterance=1, sample=3_000, seq=10)
    heard = decoded(decoder, items)
    after = [frame for frame in frames(heard) if frame.utterance == 1]
    check_places(after, 3_000)
    assert len(pcm_of(after)) == 2 * 640


def test_what_the_application_forgot_does_not_come_at_the_end() -> None:
    decoder = PacketDecoder(OPUS)
    items = spoken(sine(3_200))
    decoded(decoder, items[:5])
    decoder.forget(0)
    assert decoded(decoder, items[5:]) == items[-1:]
    assert len(pcm_of(decoded(decoder, spoken(sine(640), utterance=1, sample=3_200)))) == 1_280


def test_an_utterance_without_a_sample_has_no_frame() -> None:
    decoder = PacketDecoder(OPUS)
    end = UtteranceEnd(seq=1, utterance=0, reason="done")
    assert decoded(decoder, [AudioFrame(b"", 0, last=True), end]) == [end]


def test_other_entries_pass() -> None:
    end = UtteranceEnd(seq=1, utterance=0, reason="done", sample=160)
    mulaw = decoder_for(PayloadFormat(8_000, 1, Codec.MULAW))
    assert mulaw.take(end) == [end]
    mulaw.forget(0)
    decoder = decoder_for(OPUS)
    down = SwitchDown(seq=1, rung="opus-8", sample=0, reset=False)
    assert decoder.take(down) == [down]


@pytest.mark.parametrize("codec", [Codec.MULAW, Codec.ALAW])
def test_telephony_is_decoded_sample_by_sample(codec: Codec) -> None:
    coded = law(codec).encode(sine(160))
    decoder = decoder_for(PayloadFormat(8_000, 1, codec))
    (frame,) = decoder.take(AudioFrame(coded, 3, True, sample=9, utterance=2))
    assert frame == AudioFrame(law(codec).decode(coded), 3, True, sample=9, utterance=2)


def test_what_cannot_be_decoded_is_bad_audio() -> None:
    with pytest.raises(BadAudio):
        PacketDecoder(OPUS).take(AudioFrame(b"\xff\xff\xff", 0))


# in a channel


def channel(codec: str) -> Channel:
    start = StreamStart(stream_id="s", stream=1, task="synthesize", codec=codec, sample_rate=16_000)
    return Channel(ClientStream(start, AudioFormat(16_000)), FakeCarrier())


def taken(line: Channel) -> list[Item]:
    items = []
    while (item := line.take_item()) is not None:
        items.append(item)
    return items


def test_a_channel_hands_out_pcm() -> None:
    line = channel("opus")
    line.receive(spoken(sine(1_000)))
    heard = taken(line)
    assert len(pcm_of(heard)) == 2_000
    check_places(heard)


def test_after_a_cancel_a_channel_hands_out_nothing_of_it() -> None:
    line = channel("opus")
    line.stream.send_text("Hello")
    items = spoken(sine(3_200))
    line.receive(items[:-1])
    for _ in range(2):
        line.take_item()
    line.cancel(0)
    line.receive(items[-1:])
    assert frames(taken(line)) == []


def test_a_stopped_channel_forgets_what_was_decoded() -> None:
    line = channel("opus")
    line.receive(spoken(sine(320)))
    line.take_item()
    line.stop()
    assert taken(line) == []
