"""What DashScope's recognition says, as transcripts and checkpoints; no I/O."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from legato.audio import AudioFormat
from legato.engines.base import Checkpoint
from legato.engines.upstream.faults import Fault, Kind
from legato.speech import Transcript, Word

SETTLED: Final = 3.0
"""Seconds after which audio of which nothing was said is taken to be silence."""

STEP: Final = 1.0
"""Seconds between two checkpoints."""

Result = Transcript | Checkpoint


class Results:
    """The results of one task, in order and inside the audio that was sent.

    Args:
        form: Of the audio.
        clock: Monotonic seconds.
    """

    def __init__(self, form: AudioFormat, clock: Callable[[], float]) -> None:
        self._form = form
        self._clock = clock
        self._sent = 0
        self._done = 0
        self._open = False
        self._times: deque[tuple[float, int]] = deque()

    def sent(self, samples: int) -> None:
        """Take note of audio that was sent."""
        self._sent += samples
        now = self._clock()
        if not self._times or now - self._times[-1][0] >= STEP / 4:
            self._times.append((now, self._sent))

    def take(self, output: Mapping[str, Any]) -> Iterator[Result]:
        """Yield what a `result-generated` means.

        Raises:
            Fault: If it is none that the service's description has.
        """
        is_gummy = "transcription" in output
        sentence = output.get("transcription" if is_gummy else "sentence")
        if not isinstance(sentence, dict) or sentence.get("heartbeat"):
            return
        text = sentence.get("text")
        if not isinstance(text, str):
            raise Fault(Kind.BROKEN, "the upstream's result has no text")
        has_end = sentence.get("end_time") is not None  # what the service's own client looks at
        ended = bool(sentence.get("sentence_end")) if is_gummy else has_end
        if not text.strip() or self._sent <= self._done:
            self._open = self._open and not ended
            return
        self._open = not ended
        yield self._transcript(sentence, text, final=ended)

    def settled(self) -> Iterator[Checkpoint]:
        """Yield checkpoints of audio that is long past and was silent."""
        before = self._clock() - SETTLED
        quiet = self._done
        while self._times and self._times[0][0] <= before:
            quiet = self._times.popleft()[1]
        if not self._open and quiet - self._done >= self._form.samples(STEP):
            yield from self._steps(quiet)

    def finish(self) -> Iterator[Checkpoint]:
        """Yield checkpoints of the rest: the task is finished."""
        yield from self._steps(self._sent)

    def _steps(self, end: int) -> Iterator[Checkpoint]:
        while self._done < end:
            self._done = min(self._done + self._form.samples(STEP), end)
            yield Checkpoint(self._done)

    def _transcript(self, sentence: Mapping[str, Any], text: str, *, final: bool) -> Transcript:
        begin = self._sample(sentence.get("begin_time"), self._done)
        start = min(max(begin, self._done), self._sent - 1)
        end = self._sample(sentence.get("end_time"), self._sent) if final else self._sent
        end = min(max(end, start + 1), self._sent)
        if final:
            self._done = end
        return Transcript(
            text=text,
            final=final,
            start=start,
            end=end,
            words=tuple(self._words(sentence.get("words"), start, end)),
        )

    def _sample(self, milliseconds: object, otherwise: int) -> int:
        if isinstance(milliseconds, int | float):
            return self._form.samples(milliseconds / 1_000)
        return otherwise

    def _words(self, given: object, start: int, end: int) -> Iterator[Word]:
        position, last = self._form.seconds(start), self._form.seconds(end)
        for word in given if isinstance(given, list) else ():
            begun, ended = word.get("begin_time"), word.get("end_time")
            if isinstance(begun, int | float) and isinstance(ended, int | float):
                position = min(max(begun / 1_000, position), last)
                until = min(max(ended / 1_000, position), last)
                said = f"{word.get('text') or ''}{word.get('punctuation') or ''}"
                yield Word(said, position, until)
