import numpy as np
import pytest

from legato.engines.moonshine_model import MoonshineModel, read_vocabulary, without_loop
from legato.errors import EngineUnavailable
from tests.unit.engines.recordings import FORMAT, beckett


@pytest.fixture(scope="module")
def model() -> MoonshineModel:
    return MoonshineModel()


@pytest.mark.slow
def test_speech_becomes_text(model: MoonshineModel) -> None:
    heard = model.transcribe(beckett())
    assert heard.text == "Ever tried, ever failed, no matter, try again, fail again, fail better."
    assert 0.7 < heard.confidence <= 1


@pytest.mark.slow
def test_audio_longer_than_nine_seconds_is_heard_to_its_end(model: MoonshineModel) -> None:
    twice = np.concatenate((beckett()[: FORMAT.samples(9)], beckett()[: FORMAT.samples(2)]))
    assert "ever tried" in model.transcribe(twice).text.lower()


@pytest.mark.slow
def test_the_text_depends_on_the_audio_alone(model: MoonshineModel) -> None:
    first = model.transcribe(beckett())
    model.transcribe(beckett()[::-1].copy())
    assert model.transcribe(beckett()) == first


@pytest.mark.slow
def test_a_good_draft_changes_nothing(model: MoonshineModel) -> None:
    alone = model.transcribe(beckett())
    drafted = model.transcribe(beckett(), alone.tokens[:12])
    assert drafted.text == alone.text
    assert drafted.confidence == pytest.approx(alone.confidence, abs=0.1)


@pytest.mark.slow
def test_a_wrong_draft_is_left_where_it_goes_wrong(model: MoonshineModel) -> None:
    alone = model.transcribe(beckett())
    wrong = (*alone.tokens[:4], 5_000, 6_000, 7_000)
    assert model.transcribe(beckett(), wrong).text == alone.text
    assert model.transcribe(beckett(), (9_999,)).text == alone.text


@pytest.mark.slow
@pytest.mark.parametrize("samples", [0, 1, 400, 8_000])
def test_very_short_audio_does_no_harm(model: MoonshineModel, samples: int) -> None:
    assert len(model.transcribe(beckett()[:samples]).text) < 40


@pytest.mark.slow
def test_text_is_bounded_however_confused_the_network_is(model: MoonshineModel) -> None:
    noise = np.random.default_rng(0).standard_normal(FORMAT.samples(12)).astype(np.float32)
    assert len(model.transcribe(noise * 0.2).tokens) <= 12 * 6.5 + 6


@pytest.mark.parametrize(
    ("tokens", "kept"),
    [
        ((), 0),
        ((1, 2, 3), 3),
        ((1, 2, 2, 2), 4),
        ((1, 2, 2, 2, 2), 2),
        ((1, 2, 3, 2, 3, 2), 3),
        ((9, 1, 2, 3, 4, 1, 2, 3), 8),
        ((9, 1, 2, 3, 4, 1, 2, 3, 4), 5),
        ((9, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2), 5),
        ((7, 7, 7, 7, 7), 1),
        ((7, 7, 7, 7, 7, 8), 6),
    ],
)
def test_what_repeats_itself_to_the_end_is_said_once(tokens: tuple[int, ...], kept: int) -> None:
    assert without_loop(tokens) == tokens[:kept]


@pytest.mark.slow
def test_speech_that_breaks_off_in_a_word_is_not_written_in_a_loop(model: MoonshineModel) -> None:
    # Unguarded it writes "If, if, if, if, if," of the first half second of "Ever tried".
    assert model.transcribe(beckett()[: FORMAT.samples(0.5)]).text == "If, if"


def test_a_vocabulary_is_read_by_length() -> None:
    long = b"x" * 300
    data = bytes([1, 97, 0, 2, 98, 99, 128 + 300 % 128, 300 // 128]) + long
    assert read_vocabulary(data) == [b"a", b"", b"bc", long]


@pytest.mark.parametrize("data", [bytes([3, 97]), bytes([1, 97, 200])])
def test_a_vocabulary_that_breaks_off_is_refused(data: bytes) -> None:
    with pytest.raises(EngineUnavailable, match=r"tokenizer\.bin"):
        read_vocabulary(data)
