"""Engines that misbehave, for engine processes to load."""

import os
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from ctypes import PyDLL
from dataclasses import replace

from legato.audio import AudioChunk, AudioFormat
from legato.engines.base import Checkpoint, EngineInfo, EngineKind
from legato.engines.tone import ToneRecognizer, ToneSynthesizer
from legato.errors import EngineUnavailable
from legato.speech import RecognitionRequest, SynthesisRequest, Transcript

FORMAT = AudioFormat(16_000)


def info(name: str, kind: EngineKind = EngineKind.SYNTHESIZE) -> EngineInfo:
    return EngineInfo(name=name, kind=kind, version="1", format=None, slots=8, deterministic=True)


class Obedient:
    """Speaks as `tone` does, and does what it reads: "abort", "hold", "sleep", "raise"."""

    info = info("obedient")

    def __init__(self) -> None:
        self._tone = ToneSynthesizer()

    def load(self) -> None:
        return

    def close(self) -> None:
        return

    def synthesize(self, request: SynthesisRequest, text: Iterable[str]) -> Iterator[AudioChunk]:
        for piece in text:
            if "abort" in piece:
                os.abort()
            if "hold" in piece:
                PyDLL(None).sleep(30)  # PyDLL keeps the interpreter's lock
            if "sleep" in piece:
                time.sleep(30)
            if "raise" in piece:
                raise ValueError(piece)
            yield from self._tone.synthesize(request, [piece])


class Threaded(Obedient):
    """Says that it may be forked, and keeps a thread."""

    info = replace(Obedient.info, name="threaded", forkable=True)

    def load(self) -> None:
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()


class Broken(Obedient):
    """Raises at everything."""

    info = info("broken")

    def synthesize(self, request: SynthesisRequest, text: Iterable[str]) -> Iterator[AudioChunk]:
        raise ValueError(list(text))


class Refusing(Obedient):
    """Cannot be loaded."""

    info = info("refusing")

    def load(self) -> None:
        raise EngineUnavailable('weights are missing; add them with pip install "x"')


class Stumbling(Refusing):
    """Raises while it loads."""

    info = info("stumbling")

    def load(self) -> None:
        raise ValueError("secret")


class Stillborn(Refusing):
    """Dies while it loads."""

    info = info("stillborn")

    def load(self) -> None:
        os._exit(3)


class Sleeper(Refusing):
    """Takes for ever to load."""

    info = info("sleeper")

    def load(self) -> None:
        time.sleep(60)


class Patient:
    """Says nothing until the audio ends; then how many chunks it heard."""

    info = info("patient", EngineKind.RECOGNIZE)

    def load(self) -> None:
        return

    def close(self) -> None:
        return

    def recognize(
        self, request: RecognitionRequest, audio: Iterable[AudioChunk]
    ) -> Iterator[Transcript | Checkpoint]:
        heard = list(audio)
        end = heard[-1].sample + heard[-1].samples if heard else 0
        yield Transcript(text=f"{end} samples", final=True, start=0, end=end)
        yield Checkpoint(end)


class Attentive:
    """Recognizes as `tone` does; aborts on a loud chunk, holds the lock on a loud negative one.

    On a chunk that is nearly as loud it dies as a process does that takes too much memory.
    """

    info = info("attentive", EngineKind.RECOGNIZE)

    def __init__(self) -> None:
        self._tone = ToneRecognizer()

    def load(self) -> None:
        return

    def close(self) -> None:
        return

    def recognize(
        self, request: RecognitionRequest, audio: Iterable[AudioChunk]
    ) -> Iterator[Transcript | Checkpoint]:
        yield from self._tone.recognize(request, self._listen(audio))

    def _listen(self, audio: Iterable[AudioChunk]) -> Iterator[AudioChunk]:
        for chunk in audio:
            if chunk.pcm[:2] == b"\xff\x7f":
                os.abort()
            if chunk.pcm[:2] == b"\xfe\x7f":
                os.kill(os.getpid(), signal.SIGKILL)
            if chunk.pcm[:2] == b"\x00\x80":
                PyDLL(None).sleep(30)
            yield chunk
