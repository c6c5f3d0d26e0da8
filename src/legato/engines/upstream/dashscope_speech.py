"""The engine `dashscope` that speaks: CosyVoice in Alibaba's cloud, text streaming in.

Each run of text is one task: its pieces are sent as they come, each with a flush, and what is
heard until the next is given on. A run ends when text is long in coming, as the service gives a
task up that hears nothing for 23 s.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from legato.audio import AudioChunk, AudioFormat
from legato.engines.base import EngineInfo, EngineKind
from legato.engines.cosyvoice.text import bounded
from legato.engines.upstream import dashscope_options
from legato.engines.upstream.cancellation import Cancellation
from legato.engines.upstream.config import configured
from legato.engines.upstream.dashscope_links import Links
from legato.engines.upstream.dashscope_options import NAME, SpeechOptions
from legato.engines.upstream.dashscope_task import Event, Task
from legato.engines.upstream.dispatch import Attempt
from legato.engines.upstream.faults import Fault, Kind
from legato.engines.upstream.pcm import Slices, limited, whole_samples
from legato.engines.upstream.script import Script
from legato.engines.upstream.secret import Secret
from legato.engines.upstream.synthesizer import UpstreamSynthesizer
from legato.engines.upstream.text import readable
from legato.engines.upstream.websocket import Link, dial
from legato.errors import EngineUnavailable
from legato.speech import SynthesisRequest, Voice
from legato.speech.scripts import Script as Writing
from legato.speech.scripts import script_of

LONGEST_WAIT: Final = 15.0
"""Seconds without text after which a new task is begun."""

LULL: Final = 0.5
"""Seconds without a word from the service, between sentences, after which more text is sent."""


class DashScopeSpeech(UpstreamSynthesizer[str]):
    """CosyVoice as a cloud service.

    Args:
        options: Fields of `legato.engines.upstream.dashscope_options.SpeechOptions`.

    Raises:
        EngineUnavailable: If an option is unknown or wrong.
    """

    def __init__(self, **options: object) -> None:
        config = configured(NAME, SpeechOptions, options)
        self._options = config
        self._secret = Secret()
        self._links = Links(config.slots)
        super().__init__(
            _info(config),
            config,
            form=AudioFormat(config.sample_rate_hz),
            voices=config.voices,
        )

    def check(self) -> None:
        if not self._options.voices:
            raise EngineUnavailable(f"{NAME}: voices is empty; name one of the service's voices")
        self._secret = dashscope_options.check(self._options)

    def close(self) -> None:
        super().close()
        self._links.close()

    def parts(self, text: str) -> Iterable[str]:
        return bounded(readable(NAME, text))

    def _spoken(
        self, request: SynthesisRequest, text: Iterable[str], cancellation: Cancellation
    ) -> Generator[AudioChunk, None, None]:
        dispatch, voice = self._dispatch, self.voice_for(request)
        slices = Slices(self._form)
        parts = (part for piece in text for part in self.parts(piece))
        script = Script(parts, longest_wait=LONGEST_WAIT)
        while script.begin():
            answer = dispatch.run(
                lambda attempt: self._said(attempt, voice, request, script), cancellation
            )
            try:
                for pcm in answer:
                    yield from slices.cut(pcm)
            finally:
                answer.close()

    def _said(
        self, attempt: Attempt[str], voice: str, request: SynthesisRequest, script: Script
    ) -> Generator[bytes, None, None]:
        with self._task(attempt, _payload(self._options, voice, request.speed)) as task:
            hearing = Hearing(task, attempt.deadline, self._config.idle_timeout)
            audio = whole_samples(self._heard(task, hearing, script))
            yield from limited(audio, lambda: hearing.expected, self._form)

    def _heard(self, task: Task, hearing: Hearing, script: Script) -> Iterator[bytes]:
        for piece in script.pieces():
            task.proceed({"text": piece})
            task.proceed({"flush": True})
            hearing.expect(charged(piece))
            yield from hearing.until_lull()
        task.finish()
        yield from hearing.until_end()

    @contextmanager
    def _task(self, attempt: Attempt[str], payload: dict[str, Any]) -> Iterator[Task]:
        """Begin a task, and keep its connection if it ends well."""
        link, task = self._begun(attempt, payload)
        try:
            with attempt.cancellation.stopping(link.drop):
                yield task
        finally:
            if task.finished:
                self._links.keep(attempt.endpoint, link)
            else:
                link.drop()

    def _begun(self, attempt: Attempt[str], payload: dict[str, Any]) -> tuple[Link, Task]:
        kept = self._links.take(attempt.endpoint)
        if kept is not None:
            try:
                return kept, self._started(kept, attempt, payload)
            except Fault as fault:
                if fault.kind is not Kind.BROKEN:
                    raise  # the service's word, not a connection that was gone
        left = attempt.deadline - time.monotonic()
        link = dial(
            attempt.endpoint,
            self._options.headers,
            secret=self._secret,
            timeout=max(min(self._config.connect_timeout, left), 0.001),
        )
        return link, self._started(link, attempt, payload)

    def _started(self, link: Link, attempt: Attempt[str], payload: dict[str, Any]) -> Task:
        task = Task(link, self._secret)
        try:
            with attempt.cancellation.stopping(link.drop):
                task.start(payload, attempt.deadline)
        except BaseException:
            link.drop()
            raise
        return task


def charged(text: str) -> int:
    """Return the characters of a text as the service counts them: an ideograph is two."""
    return sum(2 if script_of(char) is Writing.HAN else 1 for char in text)


class Hearing:
    """What the service says of one task, in sound.

    Args:
        task: That was begun.
        deadline: Instant (`time.monotonic`) by which the first sound is due.
        idle: Seconds within which more is due, after it.

    Attributes:
        expected: Characters, as the service counts them, that were sent.
    """

    def __init__(self, task: Task, deadline: float, idle: float) -> None:
        self._task = task
        self._due = deadline
        self._idle = idle
        self._late = Kind.SLOW
        self._speaking = False
        self.expected = 0
        self._charged = 0

    def expect(self, characters: int) -> None:
        """Take note of text that was sent."""
        self.expected += characters
        if self._late is Kind.STALLED:  # however long the text was in coming
            self._due = time.monotonic() + self._idle

    def until_lull(self) -> Iterator[bytes]:
        """Yield audio until all text was spoken, or nothing comes between two sentences.

        To go on too early harms nothing: what is late is heard after the next piece was sent.
        """
        while self._charged < self.expected:
            said = self._receive(min(LULL, self._left), None)
            if said is None and not self._speaking:
                return
            if said is None and self._left <= 0:
                raise Fault(self._late, "the upstream did not go on in time")
            if isinstance(said, bytes):
                yield said
            if self._task.finished:
                raise Fault(Kind.BROKEN, "the upstream ends the task before its text")

    def until_end(self) -> Iterator[bytes]:
        """Yield audio until the task is finished."""
        while not self._task.finished:
            said = self._receive(self._left, self._late)
            if isinstance(said, bytes):
                yield said

    @property
    def _left(self) -> float:
        return self._due - time.monotonic()

    def _receive(self, timeout: float, late: Kind | None) -> Event | bytes | None:
        said = self._task.receive(timeout, late)
        if isinstance(said, bytes):
            self._late = Kind.STALLED
        if said is not None and self._late is Kind.STALLED:
            self._due = time.monotonic() + self._idle
        if isinstance(said, Event):
            kind = said.output.get("type")
            self._speaking = kind in ("sentence-begin", "sentence-synthesis")
            count = said.usage.get("characters")
            if kind == "sentence-end" and isinstance(count, int):
                self._charged = count
        return said


def _payload(config: SpeechOptions, voice: str, speed: float) -> dict[str, Any]:
    parameters: dict[str, Any] = {
        "text_type": "PlainText",
        "voice": voice,
        "format": "pcm",
        "sample_rate": config.sample_rate_hz,
        "volume": 50,
        "rate": speed,
        "pitch": 1.0,
    }
    if config.instruction:
        parameters["instruction"] = config.instruction
    return {
        "model": config.model,
        "task_group": "audio",
        "task": "tts",
        "function": "SpeechSynthesizer",
        "input": {},
        "parameters": parameters,
    }


def _info(config: SpeechOptions) -> EngineInfo:
    return EngineInfo(
        name=NAME,
        kind=EngineKind.SYNTHESIZE,
        version=config.model,
        format=AudioFormat(config.sample_rate_hz),
        languages=config.languages,
        voices=tuple(
            Voice(name=name, engine=NAME, languages=config.languages, description=config.model)
            for name in config.voices
        ),
        slots=config.slots,
        deterministic=False,
        licence="proprietary",
    )
