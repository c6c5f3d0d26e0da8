"""What every batch engine must keep to, beside the contract of an ordinary one, as tests.

See `legato.engines.batching`. A stream must not tell who else was in its steps.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Generic, TypeVar

import pytest

from legato.engines.base import Recognizer, Synthesizer
from legato.engines.batching import (
    BatchedRecognizer,
    BatchedSynthesizer,
    BatchRecognizer,
    BatchSynthesizer,
)
from legato.engines.stepper import BatchEngine
from legato.speech import RecognitionRequest, SynthesisRequest
from legato.testing.recognizers import RecognizerContract, chunks, finals, form
from legato.testing.synthesizers import CLOSE_LIMIT, SynthesizerContract

O = TypeVar("O")  # noqa: E741  output

STREAMS: Final = 5
"""Streams that are open at once in a test, if the engine takes so many."""

MAX_STEPS: Final = 100_000
"""Steps of one stream after which it is taken not to end."""


class Course(Generic[O]):
    """One stream of an engine that is driven step by step.

    Args:
        engine: It.
        request: What to do.
        pieces: The input.
    """

    def __init__(
        self, engine: BatchEngine[Any, Any, Any, O], request: object, pieces: Iterable[object]
    ) -> None:
        self._engine = engine
        self._pieces = deque(pieces)
        self._more = False
        self._ended = False
        self._steps = 0
        self.outputs: list[O] = []
        self.slot = engine.open(request)

    def prepare(self) -> bool:
        """Feed it until it has work; False if it is over."""
        if self._more:
            return True
        if self._ended:
            return False
        if self._pieces:
            self._engine.feed(self.slot, self._pieces.popleft())
        else:
            self._engine.end(self.slot)
            self._ended = True
        return True

    def take(self, outputs: Sequence[O], *, more: bool) -> None:
        """Note what a step did for it."""
        self.outputs.extend(outputs)
        self._more = more
        self._steps += 1
        assert self._steps < MAX_STEPS, "the stream does not end"


Pick = Callable[[list[Course[Any]], int], list[Course[Any]]]
"""Takes the courses that have work and the number of the step; returns those that are in it."""

COMPOSITIONS: Final[dict[str, Pick]] = {
    "together": lambda courses, step: courses,
    "reversed": lambda courses, step: courses[::-1],
    "joining one by one": lambda courses, step: courses[: 1 + step // 2],
    "in turns": lambda courses, step: courses[step % 2 :: 2] or courses,
    "in pairs": lambda courses, step: courses[step % len(courses) :][:2],
}


def drive(engine: BatchEngine[Any, Any, Any, O], courses: list[Course[O]], pick: Pick) -> None:
    """Step courses to their ends and release them."""
    going, step, ready = list(courses), 0, set[int]()
    while going:
        for course in tuple(going):
            if id(course) not in ready and not course.prepare():
                going.remove(course)
                engine.release(course.slot)
            else:
                ready.add(id(course))
        if not going:
            return
        taken = pick(going, step)[: engine.max_batch]
        progress = engine.step([course.slot for course in taken])
        assert len(progress) == len(taken)
        for course, part in zip(taken, progress, strict=True):
            assert part.error is None
            course.take(part.outputs, more=part.more)
            ready.discard(id(course))
        step += 1


def apart(courses: Iterable[Course[O]], engine: BatchEngine[Any, Any, Any, O]) -> list[list[O]]:
    """Return the outputs of courses that are driven one after the other."""
    found = []
    for course in courses:
        drive(engine, [course], COMPOSITIONS["together"])
        found.append(course.outputs)
    return found


class BatchSynthesizerContract(SynthesizerContract):
    """As `SynthesizerContract`; return your engine from `make_batch`."""

    @classmethod
    def make_batch(cls) -> BatchSynthesizer[Any]:
        """Return a new engine, not loaded yet."""
        raise NotImplementedError

    @classmethod
    def make(cls) -> Synthesizer:
        """Return it as an ordinary engine."""
        return BatchedSynthesizer(cls.make_batch())

    def courses(self, engine: BatchedSynthesizer[Any]) -> Iterable[Course[bytes]]:
        """Open streams that each say something else."""
        request = self.request(engine)
        for number in range(min(STREAMS, engine.info.slots)):
            text = self.text[number % len(self.text) :]
            yield Course(engine.engine, request, text)

    def test_a_step_takes_streams(self, engine: BatchedSynthesizer[Any]) -> None:
        assert engine.engine.max_batch >= 1

    @pytest.mark.parametrize("composition", COMPOSITIONS)
    def test_a_stream_says_the_same_whoever_is_in_its_steps(
        self, engine: BatchedSynthesizer[Any], composition: str
    ) -> None:
        serial = apart(self.courses(engine), engine.engine)
        courses = list(self.courses(engine))
        drive(engine.engine, courses, COMPOSITIONS[composition])
        for course, alone in zip(courses, serial, strict=True):
            assert self.same(engine, b"".join(alone), b"".join(course.outputs))

    def test_a_stream_that_is_released_midway_changes_no_other(
        self, engine: BatchedSynthesizer[Any]
    ) -> None:
        (alone, *_) = apart(self.courses(engine), engine.engine)
        stayed, *others = self.courses(engine)
        release_midway(engine.engine, others, beside=stayed)
        drive(engine.engine, [stayed], COMPOSITIONS["together"])
        assert self.same(engine, b"".join(alone), b"".join(stayed.outputs))

    def test_a_full_step_ends_soon_enough_to_cancel(self, engine: BatchedSynthesizer[Any]) -> None:
        request = SynthesisRequest(format=self.request(engine).format)
        size = min(engine.engine.max_batch, engine.info.slots)
        full = [Course(engine.engine, request, self.text) for _ in range(size)]
        assert seconds_of_a_step(engine.engine, full) <= CLOSE_LIMIT


class BatchRecognizerContract(RecognizerContract):
    """As `RecognizerContract`; return your engine from `make_batch`."""

    @classmethod
    def make_batch(cls) -> BatchRecognizer[Any]:
        """Return a new engine, not loaded yet."""
        raise NotImplementedError

    @classmethod
    def make(cls) -> Recognizer:
        """Return it as an ordinary engine."""
        return BatchedRecognizer(cls.make_batch())

    def courses(self, engine: BatchedRecognizer[Any], pcm: bytes) -> Iterable[Course[Any]]:
        """Open streams that each hear something else."""
        request = RecognitionRequest(format=form(engine))
        for number in range(min(STREAMS, engine.info.slots)):
            heard = pcm[number * form(engine).frame_bytes(0.5) :]
            yield Course(engine.engine, request, chunks(heard, form(engine)))

    def test_a_step_takes_streams(self, engine: BatchedRecognizer[Any]) -> None:
        assert engine.engine.max_batch >= 1

    @pytest.mark.parametrize("composition", COMPOSITIONS)
    def test_a_stream_writes_the_same_whoever_is_in_its_steps(
        self, engine: BatchedRecognizer[Any], pcm: bytes, composition: str
    ) -> None:
        if engine.info.deterministic:
            serial = [finals(heard) for heard in apart(self.courses(engine, pcm), engine.engine)]
            courses = list(self.courses(engine, pcm))
            drive(engine.engine, courses, COMPOSITIONS[composition])
            assert [finals(course.outputs) for course in courses] == serial

    def test_a_stream_that_is_released_midway_changes_no_other(
        self, engine: BatchedRecognizer[Any], pcm: bytes
    ) -> None:
        if engine.info.deterministic:
            (alone, *_) = apart(self.courses(engine, pcm), engine.engine)
            stayed, *others = self.courses(engine, pcm)
            release_midway(engine.engine, others, beside=stayed)
            drive(engine.engine, [stayed], COMPOSITIONS["together"])
            assert finals(stayed.outputs) == finals(alone)

    def test_a_full_step_ends_soon_enough_to_cancel(
        self, engine: BatchedRecognizer[Any], pcm: bytes
    ) -> None:
        request = RecognitionRequest(format=form(engine))
        size = min(engine.engine.max_batch, engine.info.slots)
        audio = list(chunks(pcm, form(engine)))
        full = [Course(engine.engine, request, audio) for _ in range(size)]
        assert seconds_of_a_step(engine.engine, full) <= CLOSE_LIMIT


def release_midway(
    engine: BatchEngine[Any, Any, Any, O], courses: list[Course[O]], *, beside: Course[O]
) -> None:
    """Step courses twice beside one that goes on, then release them."""
    for _ in range(2):
        taken = [course for course in (beside, *courses) if course.prepare()][: engine.max_batch]
        progress = engine.step([course.slot for course in taken])
        for course, part in zip(taken, progress, strict=True):
            course.take(part.outputs, more=part.more)
    for course in courses:
        engine.release(course.slot)


def seconds_of_a_step(engine: BatchEngine[Any, Any, Any, O], courses: list[Course[O]]) -> float:
    """Return how long the second step of courses takes, and release them."""
    took = 0.0
    for _ in range(2):
        taken = [course for course in courses if course.prepare()]
        began = time.monotonic()
        progress = engine.step([course.slot for course in taken])
        took = time.monotonic() - began
        for course, part in zip(taken, progress, strict=True):
            course.take(part.outputs, more=part.more)
    for course in courses:
        engine.release(course.slot)
    return took
