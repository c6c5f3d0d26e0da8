"""Streaming recognition with a fake model and a fake ear."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from legato.engines.base import Checkpoint
from legato.engines.moonshine import FORMAT, rules
from legato.engines.segments import Written
from legato.engines.sherpa.hearing import LONGEST, StreamingRecognition
from legato.speech import Endpointing, Transcript, Word
from tests.unit.engines.recordings import chunks

SECOND = FORMAT.sample_rate
LOUD = (np.random.default_rng(3).standard_normal(SECOND) * 8_000).astype("<i2").tobytes()
QUIET = bytes(2 * SECOND)


class FakeDetector:
    """Hears speech in whatever is loud."""

    def accept(self, window: NDArray[np.float32]) -> float:
        return 0.9 if float(np.abs(window).max()) > 0.01 else 0.0

    def reset(self) -> None:
        pass


class FakeDecoding:
    """Writes the loud samples that it was given, in tenths of a second."""

    def __init__(self) -> None:
        self.loud = 0

    def guess(self, audio: NDArray[np.float32]) -> Written:
        self.loud += int(np.count_nonzero(np.abs(audio) > 1e-6))
        tenths = self.loud // (SECOND // 10)
        words = tuple(Word(str(n), n / 10, (n + 1) / 10) for n in range(tenths))
        return Written(" ".join(word.text for word in words), (), 0.5, words)

    finish = guess


class FakeWriter:
    def __init__(self) -> None:
        self.decodings: list[FakeDecoding] = []

    def begin(self) -> FakeDecoding:
        self.decodings.append(FakeDecoding())
        return self.decodings[-1]


def run(
    pcm: bytes, *, silence: float | None = 0.5, longest: int = LONGEST, chunk: float = 0.1
) -> tuple[list[Transcript | Checkpoint], FakeWriter]:
    writer = FakeWriter()
    when = replace(rules(Endpointing(silence=silence)), longest=longest)
    stream = StreamingRecognition(writer, FakeDetector(), when)
    results: list[Transcript | Checkpoint] = []
    for piece in chunks(pcm, chunk) if chunk != 0.1 else chunks(pcm):
        stream.accept(piece.pcm, 0.1)
        results.extend(stream.advance())
    return [*results, *stream.finish()], writer


def texts(results: Sequence[Transcript | Checkpoint], *, final: bool) -> list[str]:
    return [one.text for one in results if isinstance(one, Transcript) and one.final is final]


def test_partials_grow_and_come_once_each() -> None:
    results, writer = run(LOUD + QUIET)
    partials = texts(results, final=False)
    assert len(partials) > 5
    assert len(set(partials)) == len(partials)
    assert all(after.startswith(before) for before, after in pairwise(partials))
    assert len(writer.decodings) == 1


def test_each_utterance_has_a_decoding_and_its_end_is_a_checkpoint() -> None:
    results, writer = run((LOUD + QUIET) * 3)
    assert len(texts(results, final=True)) == len(writer.decodings) == 3
    finals = [one for one in results if isinstance(one, Transcript) and one.final]
    assert {one.end for one in finals} <= {
        one.sample for one in results if isinstance(one, Checkpoint)
    }


def test_nothing_is_decoded_while_nobody_speaks() -> None:
    results, writer = run(QUIET * 5)
    assert writer.decodings == []
    assert all(isinstance(one, Checkpoint) for one in results)
    assert len(results) >= 4


def test_what_lies_beyond_a_cut_is_written_once() -> None:
    results, _ = run(LOUD * 6, longest=94, silence=None)
    finals = [one for one in results if isinstance(one, Transcript) and one.final]
    assert len(finals) >= 2
    assert all(before.end <= after.start + 10 * 512 for before, after in pairwise(finals))
    tenths = sum(len(one.text.split()) for one in finals)
    assert 60 - len(finals) <= tenths <= 60


def test_words_have_their_place_in_the_stream() -> None:
    results, _ = run(QUIET + LOUD + QUIET)
    final = next(one for one in results if isinstance(one, Transcript) and one.final)
    assert final.confidence == 0.5
    assert final.words[0].start == pytest.approx(1.0, abs=0.05)
    assert final.words[-1].end <= FORMAT.seconds(final.end)


def test_the_end_of_the_audio_ends_an_utterance() -> None:
    results, _ = run(LOUD)
    assert texts(results, final=True)[0].startswith("0 1 2 3 4 5 6 7 8")
