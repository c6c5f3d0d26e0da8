"""The engine `dashscope` that writes: Paraformer, Fun-ASR and Gummy in Alibaba's cloud."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Iterator
from functools import partial
from typing import Any, Final

from legato.audio import AudioChunk, AudioFormat
from legato.engines.base import Checkpoint, EngineInfo, EngineKind
from legato.engines.upstream import dashscope_options
from legato.engines.upstream.cancellation import Cancellation, Stream
from legato.engines.upstream.config import configured
from legato.engines.upstream.dashscope_options import NAME, RecognitionOptions
from legato.engines.upstream.dashscope_results import Results
from legato.engines.upstream.dashscope_task import Event, Task
from legato.engines.upstream.dispatch import Attempt
from legato.engines.upstream.engine import UpstreamEngine
from legato.engines.upstream.faults import Kind
from legato.engines.upstream.secret import Secret
from legato.engines.upstream.websocket import dial
from legato.errors import UnsupportedFormat
from legato.speech import RecognitionRequest, Transcript
from legato.speech.wishes import refuse_words_for_numbers

FRAME: Final = 0.1
"""Seconds of audio in one message: the service takes 1 to 16 KB."""

LISTEN: Final = 0.005
"""Seconds given to answers after each message: so 20 times real time is the most that is sent."""

SILENCES_MS: Final = (200, 6_000)
"""Bounds of the service for the silence that ends a sentence."""

Result = Transcript | Checkpoint


class DashScopeRecognition(UpstreamEngine):
    """Recognition as a cloud service.

    Args:
        options: Fields of `legato.engines.upstream.dashscope_options.RecognitionOptions`.

    Raises:
        EngineUnavailable: If an option is unknown or wrong.
    """

    def __init__(self, **options: object) -> None:
        config = configured(NAME, RecognitionOptions, options)
        self._options = config
        self._secret = Secret()
        self._form = AudioFormat(config.sample_rate_hz)
        info = EngineInfo(
            name=NAME,
            kind=EngineKind.RECOGNIZE,
            version=config.model,
            format=self._form,
            languages=config.languages,
            slots=config.slots,
            deterministic=False,
            licence="proprietary",
        )
        super().__init__(info, config)

    def check(self) -> None:
        self._secret = dashscope_options.check(self._options)

    def recognize(
        self, request: RecognitionRequest, audio: Iterable[AudioChunk]
    ) -> Iterator[Result]:
        """Write down; see `legato.engines.base.Recognizer`. Any thread may close the iterator."""
        cancellation = Cancellation()
        return Stream(self._written(request, audio, cancellation), cancellation)

    def _written(
        self, request: RecognitionRequest, audio: Iterable[AudioChunk], cancellation: Cancellation
    ) -> Generator[Result, None, None]:
        refuse_words_for_numbers(request.inverse_normalization, engine=NAME)
        # What was heard cannot be heard again: another upstream is tried until a task is begun.
        answer = self._dispatch.run(partial(self._task, request, audio), cancellation)
        try:
            yield from (result for result in answer if result is not None)
        finally:
            answer.close()

    def _task(
        self, request: RecognitionRequest, audio: Iterable[AudioChunk], attempt: Attempt[str]
    ) -> Generator[Result | None, None, None]:
        left = attempt.deadline - time.monotonic()
        link = dial(
            attempt.endpoint,
            self._options.headers,
            secret=self._secret,
            timeout=max(min(self._config.connect_timeout, left), 0.001),
        )
        try:
            with attempt.cancellation.stopping(link.drop):
                task = Task(link, self._secret)
                task.start(_payload(self._options, request), attempt.deadline)
                yield None  # begun
                results = Results(self._form, time.monotonic)
                yield from self._listened(task, results, audio)
        finally:
            link.drop()

    def _listened(
        self, task: Task, results: Results, audio: Iterable[AudioChunk]
    ) -> Iterator[Result]:
        size = self._form.frame_bytes(FRAME)
        for chunk in audio:
            if chunk.format != self._form:
                raise UnsupportedFormat(f"{NAME} takes {self._form} here, not {chunk.format}")
            self._form.samples_in(chunk.pcm)
            for start in range(0, len(chunk.pcm), size):
                frame = chunk.pcm[start : start + size]
                task.send(frame)
                results.sent(self._form.samples_in(frame))
                while said := task.receive(LISTEN, None):
                    yield from _results(results, said)
            yield from results.settled()
        task.finish()
        while not task.finished:
            said = task.receive(self._config.idle_timeout, Kind.STALLED)
            yield from _results(results, said)
        yield from results.finish()


def _results(results: Results, said: Event | bytes | None) -> Iterator[Result]:
    if isinstance(said, Event):
        yield from results.take(said.output)


def _payload(config: RecognitionOptions, request: RecognitionRequest) -> dict[str, Any]:
    parameters: dict[str, Any] = {
        "format": "pcm",
        "sample_rate": config.sample_rate_hz,
        "heartbeat": True,  # or a minute of silence ends the task
    }
    least, most = SILENCES_MS
    silence = request.endpointing.silence
    milliseconds = most if silence is None else round(silence * 1_000)
    parameters["max_sentence_silence"] = min(max(milliseconds, least), most)
    hints = (request.language.split("-")[0],) if request.language else config.language_hints
    if config.is_gummy:
        parameters |= {"transcription_enabled": True, "translation_enabled": False}
        parameters["source_language"] = hints[0] if hints else "auto"
    elif hints:
        parameters["language_hints"] = list(hints)
    if config.vocabulary_id:
        parameters["vocabulary_id"] = config.vocabulary_id
    return {
        "model": config.model,
        "task_group": "audio",
        "task": "asr",
        "function": "recognition",
        "input": {},
        "parameters": parameters,
    }
