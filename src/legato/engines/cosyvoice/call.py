"""A text that CosyVoice speaks, in a thread of its own, so that whoever listens can leave."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from legato.engines.cosyvoice.run import POLL, Abandoned, Run
from legato.errors import EngineFailed, LegatoError

Samples = NDArray[np.float32]
Outputs = Iterator[Mapping[str, Any]]

BACKLOG: Final = 2
"""Chunks that are made before they are asked for."""

CLOSE_WAIT: Final = 0.15
"""Seconds that `close` waits for a step to end; what lasts longer ends by itself."""

LOOK: Final = 0.05
"""Seconds between looks at whether the request is over."""


LOOKS: Final = 2
"""Looks for tokens, the last one begun after the language model came to a halt, that tell that
there is nothing more to make sound of."""

TEXT_WAIT: Final = 1.0
"""Seconds after which text is handed over in any case."""


class Word(Enum):
    """What a call may say besides audio."""

    WANTS_TEXT = "wants text"
    OVER = "over"


@dataclass(frozen=True, slots=True)
class Chunk:
    """Audio of CosyVoice.

    Attributes:
        clip: Number of the text that it belongs to: CosyVoice cuts a longer one by itself.
        audio: Samples, nominally within [-1, 1].
    """

    clip: int
    audio: Samples


class Call:
    """Speaks.

    Args:
        run: The request.
        speak: Calls CosyVoice; is given a generator of text, for models that take one.
        freed: Called when the model can be used by others, in whichever thread.
        progress_timeout: Seconds without a token or a sample until it is given up.
    """

    def __init__(
        self,
        run: Run,
        speak: Callable[[Generator[str, None, None]], Outputs],
        *,
        freed: Callable[[], None],
        progress_timeout: float,
    ) -> None:
        self._run = run
        self._speak = speak
        self._freed = freed
        self._progress_timeout = progress_timeout
        self._changed = threading.Condition()
        self._ready: deque[Chunk] = deque()
        self._over = False
        self._wants_text: tuple[int, float] | None = None
        self._given: deque[str | None] = deque()
        self._thread = threading.Thread(target=self._work, name="cosyvoice", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def next(self) -> Chunk | Word:
        """Return what comes next: audio before anything else.

        Raises:
            EngineFailed: If CosyVoice failed, or made no progress for too long.
        """
        seen, since = self._run.progress(), time.monotonic()
        while True:
            with self._changed:
                word = self._word(time.monotonic())
                if word is not None:
                    return word
                self._changed.wait(POLL if self._wants_text else LOOK)
            if self._run.failure is not None:
                continue
            now = self._run.progress()
            if now != seen:
                seen, since = now, time.monotonic()
            elif time.monotonic() - since > self._progress_timeout:
                self._run.fail(
                    EngineFailed(
                        f"CosyVoice made neither a token nor a sample for"
                        f" {self._progress_timeout:g} s. {EngineFailed.advice}"
                    )
                )

    def give(self, text: str | None) -> None:
        """Hand over the text that was asked for; None says that there is no more."""
        with self._changed:
            self._wants_text = None
            self._given.append(text)
            self._changed.notify_all()

    def close(self) -> None:
        """Stop; returns soon, while the model is freed as soon as the step that it is in ends."""
        self._run.stop()
        with self._changed:
            self._changed.notify_all()
        self._thread.join(CLOSE_WAIT)

    def _word(self, now: float) -> Chunk | Word | None:
        if self._ready:
            self._changed.notify_all()
            return self._ready.popleft()
        if self._run.failure is not None:
            raise failure(self._run.failure)
        if self._over:
            return Word.OVER
        return Word.WANTS_TEXT if self._is_short_of_text(now) else None

    def _is_short_of_text(self, now: float) -> bool:
        """Whether text is wanted, and what was given makes no chunk any more.

        The language model wants text long before the sound of what it has is made.
        """
        if self._wants_text is None:
            return False
        looks, since = self._wants_text
        return self._run.looks >= looks + LOOKS or now - since > TEXT_WAIT

    def _work(self) -> None:
        try:
            with self._run.entered():
                for output in self._speak(self._text()):
                    self._put(Chunk(self._run.clips, samples(output)))
        except Abandoned:
            pass  # stopped, or its other thread failed: either is known
        except BaseException as error:  # noqa: BLE001  top of the thread; CosyVoice raises anything
            self._run.fail(error)
        with self._changed:
            self._over = True
            self._changed.notify_all()
        self._run.settle()
        self._freed()

    def _put(self, chunk: Chunk) -> None:
        with self._changed:
            while len(self._ready) >= BACKLOG and not self._run.is_over:
                self._changed.wait(LOOK)
            self._run.check()
            self._ready.append(chunk)
            self._changed.notify_all()

    def _text(self) -> Generator[str, None, None]:
        """Yield text as it is given: a real generator, as CosyVoice looks for one."""
        while (text := self._take()) is not None:
            yield text

    def _take(self) -> str | None:
        with self._changed:
            if not self._given:
                self._wants_text = self._run.looks, time.monotonic()
            self._changed.notify_all()
            while not self._given:
                self._changed.wait(LOOK)
                self._run.check()
            return self._given.popleft()


def samples(output: Mapping[str, Any]) -> Samples:
    """Return the samples of what CosyVoice yields, a tensor of shape [1, samples].

    Raises:
        EngineFailed: If it yields something else.
    """
    try:
        audio = np.asarray(output["tts_speech"].numpy(), dtype=np.float32)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise EngineFailed("CosyVoice yielded something else than speech") from error
    return audio.reshape(-1)


def failure(error: BaseException) -> LegatoError:
    """Return what a stream ends with because of an error in CosyVoice."""
    if isinstance(error, LegatoError):
        return error
    failed = EngineFailed(f"CosyVoice raised {type(error).__name__}. {EngineFailed.advice}")
    failed.__cause__ = error
    return failed
