"""How the recordings of voices come to an engine process: each once, not with each segment.

Worker and process both keep the recordings that were used last, in the same order, as both see the
same commands in the same order: so the worker knows what the process has without asking.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Final, TypeVar

from legato.errors import Internal
from legato.speech.voices import VoicePrompt
from legato.worker.frames import Command, Forget, Speak, Teach

T = TypeVar("T")

KEPT: Final = 8
"""Recordings that a process keeps: 12 MB at most."""

PIECE_BYTES: Final = 512 << 10
"""Bytes of a recording in one frame: a whole one may be larger than a frame."""


class Teacher:
    """The worker's side."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, None] = OrderedDict()

    def commands(self, command: Command) -> Iterator[Command]:
        """Yield what is to be sent instead of `command`."""
        if not isinstance(command, Speak) or (prompt := command.request.prompt) is None:
            yield command
            return
        if prompt.digest not in self._known:
            yield from _pieces(prompt)
        _use(self._known, prompt.digest, None)
        bare = replace(command.request, prompt=replace(prompt, pcm=b""))
        yield Speak(command.call, command.slot, bare)

    def keep_only(self, digests: Collection[str]) -> Iterator[Forget]:
        """Yield what makes the process drop all recordings but some."""
        for digest in [digest for digest in self._known if digest not in digests]:
            del self._known[digest]
            yield Forget(digest)


class Pupil:
    """The engine process's side."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, bytes] = OrderedDict()
        self._pieces: list[bytes] = []

    def learn(self, piece: Teach) -> None:
        """Take a piece of a recording."""
        self._pieces.append(piece.pcm)
        if piece.last:
            pcm, self._pieces = b"".join(self._pieces), []
            _use(self._known, piece.digest, pcm)

    def forget(self, digest: str) -> None:
        """Drop a recording."""
        self._known.pop(digest, None)

    def whole(self, command: Speak) -> Speak:
        """Return a command with the recording that it names.

        Raises:
            Internal: If there is none.
        """
        prompt = command.request.prompt
        if prompt is None:
            return command
        pcm = self._known.get(prompt.digest)
        if pcm is None:
            raise Internal("an engine process was not told a recording")
        _use(self._known, prompt.digest, pcm)
        whole = replace(command.request, prompt=replace(prompt, pcm=pcm))
        return Speak(command.call, command.slot, whole)


def _pieces(prompt: VoicePrompt) -> Iterator[Teach]:
    for start in range(0, max(len(prompt.pcm), 1), PIECE_BYTES):
        end = start + PIECE_BYTES
        yield Teach(prompt.digest, prompt.pcm[start:end], last=end >= len(prompt.pcm))


def _use(known: OrderedDict[str, T], digest: str, value: T) -> None:
    """Note that a recording is used, and drop the one that has not been for longest."""
    known[digest] = value
    known.move_to_end(digest)
    if len(known) > KEPT:
        known.popitem(last=False)
