"""Voices that clients bring: what one CosyVoice keeps of their recordings, and for how long."""

from __future__ import annotations

import os
import tempfile
import threading
import wave
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import IO, Final

from legato.audio import SAMPLE_BYTES
from legato.speech.voices import VoicePrompt

MOST: Final = 16
"""Voices that are kept besides those that speak; each holds the features of 30 s at most."""


class Clones:
    """The voices of clients that a model knows.

    Args:
        learn: Has the model work out what it needs; takes the path of a recording, what is said in
            it and the name to keep it under.
        drop: Has the model forget a name.
    """

    def __init__(self, learn: Callable[[str, str, str], None], drop: Callable[[str], None]) -> None:
        self._learn = learn
        self._drop = drop
        self._learning = threading.Lock()
        self._lock = threading.Lock()
        self._known: OrderedDict[str, str] = OrderedDict()
        self._speaking: Counter[str] = Counter()
        self._unwanted: set[str] = set()

    def __len__(self) -> int:
        return len(self._known)

    @contextmanager
    def lent(self, prompt: VoicePrompt, text: str) -> Iterator[str]:
        """Give the name under which the model knows a voice, for as long as it speaks.

        Args:
            prompt: The recording.
            text: What the model should take for what is said in it.
        """
        name = f"own/{blake2b(f'{prompt.digest}/{text}'.encode(), digest_size=16).hexdigest()}"
        self._borrow(prompt, text, name)
        try:
            yield name
        finally:
            with self._lock:
                self._speaking[name] -= 1
                if not self._speaking[name]:
                    del self._speaking[name]
                    if name in self._unwanted:
                        self._forget(name)
                self._make_room()

    def forget(self, digest: str) -> None:
        """Drop a voice: now, or as soon as it does not speak any more."""
        with self._lock:
            for name in [name for name, known in self._known.items() if known == digest]:
                if name in self._speaking:
                    self._unwanted.add(name)
                else:
                    self._forget(name)

    def _borrow(self, prompt: VoicePrompt, text: str, name: str) -> None:
        with self._learning:  # which takes a second, while others may still forget and give back
            if self._is_known(name):
                return
            with as_file(prompt) as path:
                self._learn(path, text, name)
            with self._lock:
                self._known[name] = prompt.digest
                self._speaking[name] += 1
                self._make_room()

    def _is_known(self, name: str) -> bool:
        with self._lock:
            if name not in self._known:
                return False
            self._known.move_to_end(name)
            self._unwanted.discard(name)
            self._speaking[name] += 1
            return True

    def _make_room(self) -> None:
        """Drop the voices that have been silent for longest, if there are too many."""
        silent = [name for name in self._known if name not in self._speaking]
        for name in silent[: max(0, len(self._known) - MOST)]:
            self._forget(name)

    def _forget(self, name: str) -> None:
        del self._known[name]
        self._unwanted.discard(name)
        self._drop(name)


@contextmanager
def as_file(prompt: VoicePrompt) -> Iterator[str]:
    """Give a path at which a recording is read as WAV, for the length of the block.

    CosyVoice takes paths alone, and opens them several times. Where the system can, the file is in
    memory (memfd_create(2)): a voice that is removed shall have left nothing on a disk.
    """
    with _file() as file:
        with wave.open(file, "wb") as wav:
            wav.setnchannels(prompt.format.channels)
            wav.setsampwidth(SAMPLE_BYTES)
            wav.setframerate(prompt.format.sample_rate)
            wav.writeframes(prompt.pcm)
        file.flush()
        held = Path(f"/proc/self/fd/{file.fileno()}")
        yield str(held) if held.exists() else str(file.name)


def _file() -> IO[bytes]:
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("prompt"), "w+b")
    return tempfile.NamedTemporaryFile(suffix=".wav")
