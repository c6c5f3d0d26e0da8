"""Recognition with the real networks, and its scheduling with fake ones in virtual time."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

import jiwer
import numpy as np
import pytest
from numpy.typing import NDArray

from legato.audio import AudioChunk
from legato.engines.base import Checkpoint
from legato.engines.live_load import Crowd
from legato.engines.moonshine import Moonshine, Recognition, rules
from legato.engines.moonshine_model import Hypothesis
from legato.engines.silero import WINDOW
from legato.errors import EngineUnavailable, UnsupportedOption
from legato.speech import Endpointing, RecognitionRequest, Transcript
from tests.unit.engines.recordings import FORMAT, beckett_pcm, chunks, librivox

Result = Transcript | Checkpoint
SECOND = FORMAT.sample_rate
SPEECH = (np.random.default_rng(3).standard_normal(SECOND) * 8_000).astype("<i2").tobytes()
SILENCE = bytes(2 * SECOND)


@pytest.fixture(scope="module")
def engine() -> Iterator[Moonshine]:
    engine = Moonshine()
    engine.load()
    yield engine
    engine.close()


def hear(engine: Moonshine, pcm: bytes, silence: float | None = 0.5) -> list[Result]:
    request = RecognitionRequest(format=FORMAT, endpointing=Endpointing(silence=silence))
    return list(engine.recognize(request, chunks(pcm)))


def finals(results: Sequence[Result]) -> list[Transcript]:
    return [result for result in results if isinstance(result, Transcript) and result.final]


def plain(text: str) -> str:
    return " ".join(re.sub(r"\bmr\b", "mister", re.sub(r"[^a-z' ]", " ", text.lower())).split())


@pytest.mark.slow
@pytest.mark.requires("pocketsphinx-testdata")
def test_a_reader_is_understood(engine: Moonshine) -> None:
    said, heard = [], []
    for _, pcm, text in librivox():
        said.append(plain(text))
        heard.append(plain(" ".join(result.text for result in finals(hear(engine, pcm)))))
    output = jiwer.process_words(said, heard)
    errors = output.substitutions + output.deletions + output.insertions
    assert errors <= 5, jiwer.visualize_alignment(output)


@pytest.mark.slow
@pytest.mark.requires("pocketsphinx-testdata")
def test_speech_without_a_pause_is_cut_and_nothing_of_it_lost(engine: Moonshine) -> None:
    pcm = b"".join(clip for _, clip, _ in librivox())
    said = " ".join(plain(text) for _, _, text in librivox())
    heard = finals(hear(engine, pcm, silence=None))
    assert len(heard) > 1
    assert max(result.end - result.start for result in heard) <= 12 * SECOND
    output = jiwer.process_words(said, plain(" ".join(result.text for result in heard)))
    assert output.wer <= 0.1, jiwer.visualize_alignment(output)


@pytest.mark.slow
def test_each_utterance_becomes_final_after_the_silence(engine: Moonshine) -> None:
    texts = [plain(result.text) for result in finals(hear(engine, beckett_pcm()))]
    assert len(texts) == 6
    assert texts[0] == "ever tried"
    assert texts[3] == "try again"


def test_an_engine_that_is_not_loaded_says_so() -> None:
    with pytest.raises(EngineUnavailable, match="not loaded"):
        hear(Moonshine(), SILENCE)


@pytest.mark.slow
def test_loading_twice_loads_once(engine: Moonshine) -> None:
    engine.load()
    assert finals(hear(engine, beckett_pcm()))


def test_rules_count_silence_in_windows() -> None:
    assert rules(Endpointing(silence=0.5)).silence == 16
    assert rules(Endpointing(silence=0.0)).silence == 1
    assert rules(Endpointing(silence=None)).silence is None
    assert rules(Endpointing(threshold=0.7)).threshold == 0.7


class FakeDetector:
    """Hears speech in whatever is loud."""

    def accept(self, window: NDArray[np.float32]) -> float:
        return 0.9 if float(np.abs(window).max()) > 0.01 else 0.0

    def reset(self) -> None:
        pass


class FakeModel:
    """Hears a word in each half second; takes a fixed time of a fake clock for it."""

    def __init__(self, cost: float = 0.0, *, mute: bool = False) -> None:
        self.mute = mute
        self.now = 0.0
        self.cost = cost
        self.lengths: list[int] = []
        self.drafts: list[tuple[int, ...]] = []

    def transcribe(self, audio: NDArray[np.float32], draft: Sequence[int] = ()) -> Hypothesis:
        self.now += self.cost
        self.lengths.append(len(audio))
        self.drafts.append(tuple(draft))
        words = range(0 if self.mute else len(audio) // (SECOND // 2))
        return Hypothesis(" ".join(f"w{n}" for n in words), tuple(words), 0.9)

    def clock(self) -> float:
        return self.now


def recognition(model: FakeModel, silence: float | None = 0.5) -> Recognition:
    endpointing = rules(Endpointing(silence=silence))
    return Recognition(model, FakeDetector(), endpointing, model.clock)


def run(
    model: FakeModel, pcm: bytes, *, waited: float = 0.1, silence: float | None = 0.5
) -> list[Result]:
    """Recognize chunks of 100 ms, each waited for as long as said."""
    stream = recognition(model, silence)
    results: list[Result] = []
    for chunk in chunks(pcm):
        stream.accept(chunk.pcm, waited)
        results.extend(stream.advance())
    return [*results, *stream.finish()]


def partials(results: Sequence[Result]) -> list[Transcript]:
    return [result for result in results if isinstance(result, Transcript) and not result.final]


def test_partials_grow_while_someone_speaks() -> None:
    results = run(FakeModel(), SPEECH * 4 + SILENCE)
    texts = [result.text for result in partials(results)]
    assert texts[0] == "w0"
    assert len(texts) >= 5
    assert all(longer.startswith(shorter) for shorter, longer in pairwise(texts))


def test_a_partial_is_drafted_from_the_last_one_but_a_final_is_not() -> None:
    model = FakeModel()
    run(model, SPEECH * 3 + SILENCE)
    assert any(model.drafts[:-1])
    assert model.drafts[-1] == ()


def test_partials_are_left_out_while_audio_has_piled_up() -> None:
    model = FakeModel()
    results = run(model, SPEECH * 4 + SILENCE, waited=0.0)
    assert partials(results) == []
    assert len(finals(results)) == len(model.lengths) == 1


def test_after_a_burst_partials_wait_until_it_is_heard() -> None:
    model = FakeModel()
    stream = recognition(model)
    for number, chunk in enumerate(chunks(SPEECH * 3)):
        stream.accept(chunk.pcm, 3.0 if number == 0 else 0.0)
        assert list(stream.advance()) == []
    assert len(model.lengths) == 1


def test_the_costlier_partials_are_the_fewer_they_get() -> None:
    cheap, costly = FakeModel(cost=0.05), FakeModel(cost=0.4)
    for model in (cheap, costly):
        run(model, SPEECH * 10, silence=None)
    assert len(cheap.lengths) > 15
    assert len(costly.lengths) <= 7


def test_what_is_final_does_not_depend_on_partials() -> None:
    pcm = SILENCE + SPEECH * 3 + SILENCE + SPEECH + SILENCE
    relaxed, hurried = (finals(run(FakeModel(), pcm, waited=waited)) for waited in (0.1, 0.0))
    assert relaxed == hurried
    assert len(relaxed) == 2


def test_the_final_is_ready_before_the_silence_is_over() -> None:
    model = FakeModel()
    stream = recognition(model)
    before_final = -1
    for chunk in chunks(SPEECH * 2 + SILENCE):
        stream.accept(chunk.pcm, 0.1)
        decodes = len(model.lengths)
        if finals(list(stream.advance())):
            before_final = len(model.lengths) - decodes
    assert before_final == 0


def test_a_segment_without_words_is_done_with_but_not_written() -> None:
    model = FakeModel(mute=True)
    results = run(model, SPEECH + SILENCE)
    assert model.lengths
    assert [result for result in results if isinstance(result, Transcript)] == []
    assert results[-1] == Checkpoint(2 * SECOND)


def test_silence_is_forgotten_but_for_what_a_word_may_begin_with() -> None:
    results = run(FakeModel(), SILENCE * 5)
    samples = [result.sample for result in results if isinstance(result, Checkpoint)]
    assert samples[-1] == 5 * SECOND
    assert max(after - before for before, after in pairwise([0, *samples])) <= 1.4 * SECOND


def test_speech_to_the_last_sample_is_final_at_the_last_sample() -> None:
    (final,) = finals(run(FakeModel(), SPEECH * 2 + SPEECH[:1_000]))
    assert final.end == 2 * SECOND + 500


def test_a_chunk_need_not_hold_whole_windows() -> None:
    stream = recognition(FakeModel())
    results: list[Result] = []
    for chunk in (AudioChunk(SPEECH[at : at + 14], FORMAT) for at in range(0, len(SPEECH), 14)):
        stream.accept(chunk.pcm, 0.0)
        results.extend(stream.advance())
    results.extend(stream.finish())
    assert [final.end for final in finals(results)] == [SECOND]


def crowded(
    model: FakeModel, pcm: bytes, crowd: Crowd, *, waited: float = 0.1, tick: float = 0.1
) -> list[Result]:
    """Recognize chunks of 100 ms in a crowd, while the clock goes on."""
    stream = Recognition(
        model, FakeDetector(), rules(Endpointing(silence=0.5)), model.clock, crowd=crowd
    )
    results: list[Result] = []
    for chunk in chunks(pcm):
        model.now += tick
        stream.accept(chunk.pcm, waited)
        results.extend(stream.advance())
    return [*results, *stream.finish()]


def others(count: int, cost: float = 0.1) -> Crowd:
    """A crowd in which others speak."""
    crowd = Crowd(2)
    for number in range(count):
        crowd.load.open(number)
    crowd.load.note(cost)
    return crowd


def test_the_more_speak_the_fewer_partials_each_gets() -> None:
    counts = []
    for count in (0, 8, 20):
        model = FakeModel(cost=0.1)
        counts.append(len(partials(crowded(model, SPEECH * 10 + SILENCE, others(count)))))
    assert counts[0] > counts[1] > counts[2] > 0


def test_where_too_many_speak_long_segments_are_cut_sooner_and_nothing_is_lost() -> None:
    alone = finals(crowded(FakeModel(cost=0.1), SPEECH * 11 + SILENCE, others(0)))
    many = finals(crowded(FakeModel(cost=0.1), SPEECH * 11 + SILENCE, others(30)))
    assert len(alone) == 1
    assert max(final.end - final.start for final in many) <= 8 * SECOND
    assert many[0].start == alone[0].start
    assert many[-1].end == alone[-1].end
    assert all(later.start <= before.end for before, later in pairwise(many))


def test_no_partial_is_made_while_all_processors_are_at_finals() -> None:
    crowd = Crowd(1)
    assert crowd.turns.try_turn()
    model = FakeModel()
    stream = Recognition(
        model, FakeDetector(), rules(Endpointing(silence=None)), model.clock, crowd=crowd
    )
    for chunk in chunks(SPEECH * 3):
        stream.accept(chunk.pcm, 0.1)
        assert list(stream.advance()) == []
    assert model.lengths == []
    crowd.turns.give_back()
    stream.accept(SPEECH[:3_200], 0.1)
    list(stream.advance())
    assert len(model.lengths) == 1
    assert crowd.turns.try_turn()


def test_a_live_stream_that_falls_behind_is_a_strain_and_a_file_is_none() -> None:
    for lived, tick, strained in ((0.1, 0.1, True), (0.0, 0.1, False), (0.1, 0.001, False)):
        crowd = Crowd(2)
        model = FakeModel()
        stream = Recognition(
            model, FakeDetector(), rules(Endpointing(silence=None)), model.clock, crowd=crowd
        )
        for number, chunk in enumerate(chunks(SPEECH * 6)):
            model.now += tick
            stream.accept(chunk.pcm, lived if number < 10 else 0.0)
            list(stream.advance())
        assert crowd.load.strained(model.now) is strained


def test_a_model_that_fails_gives_its_turn_back() -> None:
    class Broken(FakeModel):
        def transcribe(self, audio: NDArray[np.float32], draft: Sequence[int] = ()) -> Hypothesis:
            raise MemoryError

    crowd = Crowd(1)
    with pytest.raises(MemoryError):
        crowded(Broken(), SPEECH * 2, crowd)
    assert crowd.turns.try_turn()


@pytest.mark.slow
def test_a_stream_that_is_closed_counts_no_more(engine: Moonshine) -> None:
    assert not engine.degraded
    request = RecognitionRequest(format=FORMAT)
    results = engine.recognize(request, chunks(beckett_pcm()))
    next(results)
    results.close()  # type: ignore[attr-defined]  # a generator
    assert engine.crowd.load.interval() == 0.0


def test_audio_that_ends_with_a_window_is_written_down_too(engine: Moonshine) -> None:
    """No half window is left then that would have it finished."""
    pcm = beckett_pcm()[: 40 * WINDOW * FORMAT.sample_bytes]
    assert [text.text for text in finals(hear(engine, pcm))] == ["Ever tried,"]


@pytest.mark.parametrize(
    ("asked", "named"),
    [({"inverse_normalization": False}, "figures"), ({"options": {"beams": 1}}, "'beams'")],
)
def test_what_it_does_not_do_is_refused(
    engine: Moonshine, asked: dict[str, object], named: str
) -> None:
    request = RecognitionRequest(format=FORMAT, **asked)  # type: ignore[arg-type]  # by name
    with pytest.raises(UnsupportedOption, match=named):
        next(engine.recognize(request, chunks(SPEECH)))
