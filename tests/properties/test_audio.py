import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from legato.audio import AudioFormat, level_dbfs, mix_channels, to_float, to_int16
from legato.errors import BadAudio

FORMATS = st.builds(AudioFormat, st.integers(8_000, 48_000), st.integers(1, 2))
MONO = st_numpy.arrays("<i2", st.integers(0, 200)).map(lambda samples: samples.tobytes())
FLOATS = st_numpy.arrays(st.sampled_from([np.float32, np.float64]), st.integers(0, 100))


@given(MONO)
def test_pcm_survives_the_way_through_floats(pcm: bytes) -> None:
    assert to_int16(to_float(pcm)).astype("<i2").tobytes() == pcm


@given(FLOATS)
def test_any_float_becomes_a_sample_of_its_sign(audio: np.ndarray) -> None:
    samples = to_int16(audio)
    assert samples.dtype == np.int16
    assert not np.any(samples * np.sign(np.nan_to_num(audio)) < 0)


@given(MONO)
def test_doubled_mono_mixes_down_to_itself(pcm: bytes) -> None:
    assert mix_channels(mix_channels(pcm, 1, 2), 2, 1) == pcm


@given(st.binary(max_size=64), FORMATS)
def test_bytes_are_whole_samples_or_bad_audio(data: bytes, pcm_format: AudioFormat) -> None:
    try:
        samples = pcm_format.samples_in(data)
    except BadAudio:
        assert len(data) % pcm_format.sample_bytes
    else:
        assert samples * pcm_format.sample_bytes == len(data)


@given(FORMATS, st.integers(0, 10**12))
def test_a_number_of_samples_survives_the_way_through_seconds(
    pcm_format: AudioFormat, samples: int
) -> None:
    assert pcm_format.samples(pcm_format.seconds(samples)) == samples


@given(MONO)
def test_no_pcm_is_louder_than_full_scale(pcm: bytes) -> None:
    assert level_dbfs(pcm) <= 0.0
