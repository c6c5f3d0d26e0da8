import numpy as np
import pytest

from legato.audio import Codec, PayloadFormat
from legato.codecs.opus import OpusDecoder, OpusEncoder, SteadyOpusDecoder
from legato.errors import BadAudio
from legato.protocol.payloads import duration_us
from tests.unit.codecs.recordings import int16

RATES = [8_000, 12_000, 16_000, 24_000, 48_000]
LENGTHS = [10, 20, 40, 60]
SECONDS = 1.0131


def opus(rate_hz: int = 16_000, channels: int = 1, frame_ms: int = 20) -> PayloadFormat:
    return PayloadFormat(rate_hz, channels, Codec.OPUS, frame_ms)


def voice(form: PayloadFormat, seconds: float = SECONDS) -> bytes:
    """Harmonics of a pitch that moves, with two formants and a hard beginning."""
    at = np.arange(round(seconds * form.sample_rate)) / form.sample_rate
    phase = 2 * np.pi * np.cumsum(120 + 20 * np.sin(8 * at)) / form.sample_rate
    wave = np.zeros_like(at)
    for number in range(1, 25):
        pitch = 120 * number
        loud = 1 / (1 + ((pitch - 600) / 150) ** 2) + 0.5 / (1 + ((pitch - 1_800) / 250) ** 2)
        wave += loud * np.sin(number * phase + number)
    wave *= (0.6 + 0.4 * np.sin(13 * at)) * 12_000 / np.abs(wave).max()
    return np.repeat(np.rint(wave), form.channels).astype("<i2").tobytes()


def packets_of(
    form: PayloadFormat, pcm: bytes, step: int = 1_234, bitrate: int = 24_000
) -> list[bytes]:
    step -= step % form.pcm.sample_bytes
    encoder = OpusEncoder(form, bitrate)
    packets = [p for at in range(0, len(pcm), step) for p in encoder.push(pcm[at : at + step])]
    return packets + encoder.finish()


def pcm_of(form: PayloadFormat, packets: list[bytes]) -> bytes:
    decoder = OpusDecoder(form)
    return b"".join(map(decoder.decode, packets)) + decoder.flush()


def snr_db(pcm: bytes, other: bytes) -> float:
    wanted, got = int16(pcm).astype(float), int16(other).astype(float)
    return float(10 * np.log10((wanted**2).sum() / ((wanted - got) ** 2).sum()))


@pytest.mark.parametrize("rate_hz", RATES)
@pytest.mark.parametrize("frame_ms", LENGTHS)
def test_speech_comes_back_where_it_was(rate_hz: int, frame_ms: int) -> None:
    form = opus(rate_hz, frame_ms=frame_ms)
    pcm = voice(form)
    packets = packets_of(form, pcm)
    assert len(packets) == -(-len(pcm) // 2 // form.packet_samples)
    assert {duration_us(packet) for packet in packets} == {1_000 * frame_ms}
    back = pcm_of(form, packets)
    assert len(back) == len(packets) * form.packet_samples * 2
    back = back[: len(pcm)]
    assert snr_db(pcm, back) > 5
    beginning = form.pcm.frame_bytes(0.04)
    assert snr_db(pcm[:beginning], back[:beginning]) > 4
    late = max(1, rate_hz // 8_000)
    best = max(range(-4 * late, 4 * late + 1), key=lambda lag: snr_db(pcm, shifted(back, lag)))
    assert abs(best) <= late  # 125 us


def shifted(pcm: bytes, samples: int) -> bytes:
    return np.roll(int16(pcm), samples).astype("<i2").tobytes()


def test_two_channels_stay_apart() -> None:
    form = opus(48_000, channels=2)
    left = int16(voice(opus(48_000)))
    both = np.stack([left, np.zeros_like(left)], axis=1).astype("<i2").tobytes()
    back = int16(pcm_of(form, packets_of(form, both, bitrate=96_000))).reshape(-1, 2)
    assert np.abs(back[:, 0]).mean() > 20 * np.abs(back[:, 1]).mean()


def test_packets_do_not_depend_on_how_the_samples_came() -> None:
    form = opus()
    pcm = voice(form, 0.3)
    assert packets_of(form, pcm, 640) == packets_of(form, pcm, 2) == packets_of(form, pcm, 100_000)


def test_an_encoder_holds_back_little_more_than_a_frame() -> None:
    form = opus()
    encoder = OpusEncoder(form, 24_000)
    assert len(encoder.push(voice(form, 1.0))) == 49
    assert len(encoder.finish()) == 1


@pytest.mark.parametrize("samples", [0, 1, 319, 320, 321])
def test_any_number_of_samples_gives_the_packets_that_it_needs(samples: int) -> None:
    encoder = OpusEncoder(opus(), 24_000)
    packets = encoder.push(bytes(2 * samples)) + encoder.finish()
    assert len(packets) == -(-samples // 320)


def test_a_decoder_may_begin_at_any_packet() -> None:
    form = opus()
    pcm = voice(form)
    packets = packets_of(form, pcm)
    back = pcm_of(form, packets[20:])
    from_there = pcm[20 * 640 :]
    later = 5 * 640  # a decoder needs a few packets to be as good as one that heard all
    assert snr_db(from_there[later:], back[: len(from_there)][later:]) > 5


def test_half_a_sample_is_bad_audio() -> None:
    with pytest.raises(BadAudio):
        OpusEncoder(opus(), 24_000).push(bytes(3))


@pytest.mark.parametrize("packet", [bytes([9 << 3 | 3, 0, 1, 2]), bytes([8 << 3, 1, 2, 3]) * 4])
def test_what_is_no_packet_of_that_length_is_bad_audio(packet: bytes) -> None:
    with pytest.raises(BadAudio, match="Opus packet"):
        OpusDecoder(opus()).decode(packet)


@pytest.mark.parametrize("rate_hz", RATES)
def test_a_steady_decoder_gives_every_packet_its_samples(rate_hz: int) -> None:
    form = opus(rate_hz)
    pcm = voice(form)
    decoder = SteadyOpusDecoder(form)
    pieces = [decoder.decode(packet) for packet in packets_of(form, pcm)]
    assert {len(piece) for piece in pieces} == {2 * form.packet_samples}
    assert decoder.decode(b"") == b""
    back = b"".join(pieces)[: len(pcm)]
    assert max(snr_db(pcm, shifted(back, -lag)) for lag in range(round(0.0021 * rate_hz) + 1)) > 5
