"""What every recognizer must keep to: `legato.engines.base.Recognizer`, as tests."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import chain, pairwise, repeat
from typing import Final

import pytest

from legato.audio import AudioChunk, AudioFormat
from legato.engines.base import Checkpoint, EngineKind, Recognizer
from legato.errors import UnsupportedFormat
from legato.speech import RecognitionRequest, Transcript

CLOSE_LIMIT: Final = 0.2
"""Seconds within which a closed stream must have freed everything."""

STREAMS: Final = 4
"""Streams that are open at once in a test, if the engine has so many slots."""

Result = Transcript | Checkpoint


class RecognizerContract:
    """Subclass it, name the subclass `Test…`, return your engine from `make` and give it speech.

    Attributes:
        hears_speech: Whether text comes of speech alone. False for engines, such as `tone`,
            that write something of any sound.
    """

    hears_speech = True

    @classmethod
    def make(cls) -> Recognizer:
        """Return a new engine, not loaded yet."""
        raise NotImplementedError

    @classmethod
    def speech(cls, pcm: AudioFormat) -> bytes:
        """Return 3 to 30 s of speech as s16le, several utterances with pauses between them.

        Args:
            pcm: The format wanted: the engine's own, or 16 kHz mono where it has none.
        """
        raise NotImplementedError

    @pytest.fixture(scope="class")
    @classmethod
    def engine(cls) -> Iterator[Recognizer]:
        """The engine, loaded once for all tests of the class."""
        engine = cls.make()
        engine.load()
        yield engine
        engine.close()

    @pytest.fixture(scope="class")
    @classmethod
    def pcm(cls, engine: Recognizer) -> bytes:
        """The speech, made once."""
        return cls.speech(form(engine))

    def test_it_fits_the_port(self, engine: Recognizer) -> None:
        assert isinstance(engine, Recognizer)
        assert engine.info.kind is EngineKind.RECOGNIZE
        assert engine.info.name
        assert engine.info.version
        assert engine.info.slots >= 1
        assert engine.info.licence

    def test_speech_becomes_text(self, engine: Recognizer, pcm: bytes) -> None:
        heard = finals(recognize(engine, pcm))
        assert len(heard) > 1
        assert all(transcript.text for transcript in heard)

    def test_positions_are_in_order_and_inside_the_audio(
        self, engine: Recognizer, pcm: bytes
    ) -> None:
        total = form(engine).samples_in(pcm)
        done = 0
        for result in recognize(engine, pcm):
            if isinstance(result, Checkpoint):
                assert done <= result.sample <= total
                done = result.sample
            else:
                assert done <= result.start < result.end <= total
                done = result.end if result.final else done

    def test_the_last_words_are_final(self, engine: Recognizer, pcm: bytes) -> None:
        open_text = None
        for result in recognize(engine, pcm):
            if isinstance(result, Transcript):
                open_text = None if result.final else result.text
        assert open_text is None

    def test_words_lie_inside_their_transcript(self, engine: Recognizer, pcm: bytes) -> None:
        seconds = form(engine).seconds
        for transcript in transcripts(recognize(engine, pcm)):
            position = seconds(transcript.start)
            for word in transcript.words:
                assert position <= word.start <= word.end <= seconds(transcript.end)
                position = word.start

    def test_confidence_is_a_probability(self, engine: Recognizer, pcm: bytes) -> None:
        for transcript in transcripts(recognize(engine, pcm)):
            given = (transcript.confidence, *(word.confidence for word in transcript.words))
            assert all(value is None or 0 <= value <= 1 for value in given)

    def test_finals_do_not_depend_on_the_size_of_chunks(
        self, engine: Recognizer, pcm: bytes
    ) -> None:
        if engine.info.deterministic:
            sizes = (0.02, 0.1, 0.25, 60.0)
            first, *others = (finals(recognize(engine, pcm, chunk=size)) for size in sizes)
            assert others == [first] * len(others)

    def test_a_fresh_start_at_a_checkpoint_gives_the_same_later_text(
        self, engine: Recognizer, pcm: bytes
    ) -> None:
        """So that another worker can take over without a word lost or doubled."""
        whole = recognize(engine, pcm)
        if not engine.info.deterministic:
            return
        for sample in sorted(checkpoints(whole)):
            rest = pcm[sample * form(engine).sample_bytes :]
            later = [text for text in finals(whole) if text.start >= sample]
            moved = [
                shifted(text, sample, form(engine)) for text in finals(recognize(engine, rest))
            ]
            assert [outline(text) for text in moved] == [outline(text) for text in later]

    def test_audio_can_be_forgotten(self, engine: Recognizer) -> None:
        """A stream of hours must not be kept whole: something is done with every few seconds."""
        seconds = 20
        silence = bytes(form(engine).frame_bytes(seconds))
        done = [0, *sorted(checkpoints(recognize(engine, silence)))]
        gaps = [after - before for before, after in pairwise(done)]
        assert gaps
        assert form(engine).seconds(max(gaps)) <= 2.0
        assert form(engine).seconds(done[-1]) >= seconds - 2.0

    def test_silence_gives_no_text(self, engine: Recognizer) -> None:
        if self.hears_speech:
            silence = bytes(form(engine).frame_bytes(5))
            assert transcripts(recognize(engine, silence)) == []

    def test_no_audio_gives_no_text(self, engine: Recognizer) -> None:
        assert transcripts(recognize(engine, b"")) == []

    def test_a_single_sample_does_no_harm(self, engine: Recognizer) -> None:
        sample = bytes(form(engine).sample_bytes)
        for result in recognize(engine, sample):
            end = result.sample if isinstance(result, Checkpoint) else result.end
            assert end <= 1

    def test_results_come_before_the_audio_ends(self, engine: Recognizer, pcm: bytes) -> None:
        fed = [0]

        def audio() -> Iterator[AudioChunk]:
            for chunk in chunks(pcm, form(engine)):
                fed[0] += chunk.samples
                yield chunk

        results = engine.recognize(RecognitionRequest(format=form(engine)), audio())
        next(result for result in results if isinstance(result, Transcript))
        assert fed[0] < form(engine).samples_in(pcm)
        close(results)

    def test_a_closed_stream_frees_its_slot_at_once(self, engine: Recognizer, pcm: bytes) -> None:
        request = RecognitionRequest(format=form(engine))
        for _ in range(2):
            opened = [
                engine.recognize(request, endless(pcm, form(engine)))
                for _ in range(min(engine.info.slots, STREAMS))
            ]
            for results in opened:
                next(results)
            assert max(map(seconds_to_close, opened)) <= CLOSE_LIMIT
        assert finals(recognize(engine, pcm))

    def test_nothing_stays_from_a_stream_that_broke_off(
        self, engine: Recognizer, pcm: bytes
    ) -> None:
        request = RecognitionRequest(format=form(engine))
        fresh = finals(recognize(engine, pcm))
        broken = engine.recognize(request, endless(pcm, form(engine)))
        next(broken)
        close(broken)
        if engine.info.deterministic:
            assert finals(recognize(engine, pcm)) == fresh

    def test_parallel_streams_equal_serial_ones(self, engine: Recognizer, pcm: bytes) -> None:
        if not engine.info.deterministic:
            return
        half = form(engine).samples_in(pcm) // 2 * form(engine).sample_bytes
        parts = [pcm, pcm[:half], pcm[half:], pcm][: min(engine.info.slots, STREAMS)]
        serial = [finals(recognize(engine, part)) for part in parts]
        with ThreadPoolExecutor(len(parts)) as pool:
            parallel = list(pool.map(lambda part: finals(recognize(engine, part)), parts))
        assert parallel == serial

    def test_audio_in_another_format_is_refused(self, engine: Recognizer) -> None:
        other = replace(form(engine), channels=3 - form(engine).channels)
        chunk = AudioChunk(bytes(other.frame_bytes(0.1)), other)
        with pytest.raises(UnsupportedFormat):
            list(engine.recognize(RecognitionRequest(format=form(engine)), [chunk]))


def form(engine: Recognizer) -> AudioFormat:
    """Return the format that an engine is tested in."""
    return engine.info.format or AudioFormat(16_000)


def chunks(pcm: bytes, form: AudioFormat, chunk: float = 0.1) -> Iterator[AudioChunk]:
    """Cut audio into chunks of `chunk` seconds."""
    size = form.frame_bytes(chunk)
    for start in range(0, len(pcm), size):
        yield AudioChunk(pcm[start : start + size], form, start // form.sample_bytes)


def endless(pcm: bytes, form: AudioFormat) -> Iterable[AudioChunk]:
    """Return audio again and again."""
    return chain.from_iterable(chunks(part, form) for part in repeat(pcm))


def recognize(engine: Recognizer, pcm: bytes, *, chunk: float = 0.1) -> list[Result]:
    """Return all that an engine says of audio that comes in chunks of `chunk` seconds."""
    request = RecognitionRequest(format=form(engine))
    return list(engine.recognize(request, chunks(pcm, form(engine), chunk)))


def transcripts(results: Iterable[Result]) -> list[Transcript]:
    """Return the transcripts among results."""
    return [result for result in results if isinstance(result, Transcript)]


def finals(results: Iterable[Result]) -> list[Transcript]:
    """Return the final transcripts among results."""
    return [transcript for transcript in transcripts(results) if transcript.final]


def checkpoints(results: Iterable[Result]) -> set[int]:
    """Return the samples before which all audio is done with."""
    ends = {result.end for result in finals(results)}
    return ends | {result.sample for result in results if isinstance(result, Checkpoint)}


def shifted(transcript: Transcript, samples: int, form: AudioFormat) -> Transcript:
    """Return a transcript as it is for a stream that began `samples` earlier."""
    seconds = form.seconds(samples)
    return replace(
        transcript,
        start=transcript.start + samples,
        end=transcript.end + samples,
        words=tuple(
            replace(word, start=word.start + seconds, end=word.end + seconds)
            for word in transcript.words
        ),
    )


def outline(transcript: Transcript) -> tuple[object, ...]:
    """Return what two workers must agree on; times of words but for rounding."""
    words = [(word.text, round(word.start, 6), round(word.end, 6)) for word in transcript.words]
    return transcript.text, transcript.start, transcript.end, words


def close(results: Iterator[Result]) -> None:
    """Close an engine's iterator, which is a generator or has a method of this name."""
    closer = getattr(results, "close", None)
    assert callable(closer), "the iterator has no close()"
    closer()


def seconds_to_close(results: Iterator[Result]) -> float:
    """Close an engine's iterator and return how long that took."""
    start = time.monotonic()
    close(results)
    return time.monotonic() - start
