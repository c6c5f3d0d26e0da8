"""Speech made in a thread, one sentence ahead of who takes it."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from legato.engines.precedence import Precedence

Audio = NDArray[np.float32]
Take = Callable[[Audio], bool]
"""Takes audio; whether more is wanted."""

CLOSING: Final = 0.15
"""Seconds for which `close` waits for a step that runs; it cannot be broken off."""


class Rendering:
    """The audio of some sentences, in order.

    The next sentence is begun while one is taken, and no further one: what is kept is bounded by
    two sentences, and whoever does not read holds no turn at the model.

    Args:
        sentences: What to say.
        say: Says a sentence; ends soon after what it was given returns False.
        turns: Lets so many steps run at once, over all streams.
        due: When the first audio must be there, on the clock of all streams.
        rate_hz: Of the audio.
    """

    def __init__(
        self,
        sentences: Iterable[str],
        say: Callable[[str, Take], None],
        turns: Precedence,
        *,
        due: float,
        rate_hz: int,
    ) -> None:
        self._say = say
        self._turns = turns
        self._due = due
        self._rate_hz = rate_hz
        self._changed = threading.Condition()
        self._made: deque[Audio] = deque()
        self._stopped = self._over = False
        self._error: Exception | None = None
        self._thread = threading.Thread(
            target=self._run, args=(list(sentences),), name="sherpa-onnx", daemon=True
        )
        self._thread.start()

    def __iter__(self) -> Iterator[Audio]:
        while True:
            with self._changed:
                # Without a deadline of its own: the worker watches over each call.
                self._changed.wait_for(lambda: self._made or self._over)
                if not self._made:
                    break
                audio = self._made.popleft()
                self._changed.notify_all()
            yield audio
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        """Make no more audio; a step that runs keeps its turn until it is done."""
        with self._changed:
            self._stopped = True
            self._made.clear()
            self._changed.notify_all()
        self._thread.join(CLOSING)

    def _run(self, sentences: list[str]) -> None:
        try:
            for sentence in sentences:
                if not self._wanted():
                    break
                with self._turns.turn(self._due):
                    if not self._stopped:
                        self._say(sentence, self._take)
        except Exception as error:  # noqa: BLE001  (the top of a thread: its reader raises it)
            self._error = error
        finally:
            with self._changed:
                self._over = True
                self._changed.notify_all()

    def _wanted(self) -> bool:
        """Wait until what is made was taken; tell whether anybody takes more."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or not self._made)
            return not self._stopped

    def _take(self, audio: Audio) -> bool:
        with self._changed:
            self._due += len(audio) / self._rate_hz
            if not self._stopped:
                self._made.append(np.array(audio, np.float32))
                self._changed.notify_all()
            return not self._stopped
