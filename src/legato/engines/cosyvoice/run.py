"""One request to a CosyVoice model: what belongs to it, and how it is stopped.

The model's own code runs in two threads for each request: one that makes speech tokens, started by
CosyVoice, and one that waits for them and makes sound, ours. Both find their `Run` by `current`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

POLL: Final = 0.005
"""Seconds between looks for new tokens, instead of CosyVoice's 0.1: a token takes longer."""


class Abandoned(BaseException):
    """Unwinds CosyVoice's code when its request is stopped; not for `except Exception`."""


class Run:
    """A request.

    Args:
        model: CosyVoice's model object, which keeps the state of all requests by their keys.
        chunk_tokens: Speech tokens of the first chunk of each clip.

    Attributes:
        hop: Speech tokens of the next chunk.
        clips: Texts begun so far: CosyVoice cuts a longer one by itself.
        looks: How often CosyVoice has looked for tokens and not found enough.
        failure: What ended it, if it was no wish.
    """

    def __init__(self, model: object, chunk_tokens: int) -> None:
        self.hop = chunk_tokens
        self.clips = 0
        self.looks = 0
        self.failure: BaseException | None = None
        self._model = model
        self._chunk_tokens = chunk_tokens
        self._keys: list[str] = []
        self._threads: list[threading.Thread] = []
        self._over = threading.Event()

    @property
    def is_over(self) -> bool:
        """Whether it was stopped or failed."""
        return self._over.is_set()

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Have the thread's calls of CosyVoice belong to this request."""
        before = current()
        _here.run = self
        try:
            yield
        finally:
            _here.run = before

    def begin_clip(self, key: str) -> None:
        """Note the key of state that CosyVoice is about to keep for this request."""
        self._keys.append(key)
        self.clips += 1
        self.hop = self._chunk_tokens

    def watch(self, thread: threading.Thread) -> None:
        """Note a thread that CosyVoice makes for this request."""
        self._threads.append(thread)

    def pause(self, seconds: float) -> None:
        """Wait as CosyVoice asks to, but not for long.

        Raises:
            Abandoned: If the request is over.
        """
        self.looks += 1
        self._over.wait(min(seconds, POLL))
        self.check()

    def check(self) -> None:
        """Go on.

        Raises:
            Abandoned: If the request is over.
        """
        if self._over.is_set():
            raise Abandoned

    def fail(self, error: BaseException) -> None:
        """End it because of an error, unless it is over: what breaks then was broken by `stop`."""
        if not self._over.is_set():
            self.failure = error
            self.stop()

    def stop(self) -> None:
        """End it: no step is begun any more.

        The language model ends at its next token, as there is nowhere to put it.
        """
        self._over.set()
        self.forget()

    def forget(self) -> None:
        """Drop what the model keeps of this request."""
        for states in self._states():
            for key in list(self._keys):
                states.pop(key, None)

    def settle(self) -> None:
        """Wait until no thread of this request runs, then drop what the last ones left.

        Without a deadline of its own: a model that another thread is inside must not be used. Who
        waits for the model has one.
        """
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()
        self.forget()

    def progress(self) -> int:
        """Return a number that grows while tokens are made."""
        values = [states.get(key) for states in self._states() for key in list(self._keys)]
        return self.clips + sum(len(value) for value in values if isinstance(value, list))

    def _states(self) -> list[dict[str, object]]:
        return [states for states in list(vars(self._model).values()) if isinstance(states, dict)]


def current() -> Run | None:
    """Return the request that this thread works for."""
    run: Run | None = getattr(_here, "run", None)
    return run


_here: Final = threading.local()
