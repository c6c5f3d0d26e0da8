"""An engine that takes its worker along."""

import os
import signal
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace

from legato.audio import AudioChunk
from legato.engines.tone import ToneRecognizer
from legato.speech import RecognitionRequest, Transcript


class Lethal(ToneRecognizer):
    """Recognizes as `tone` does; a loud chunk kills the worker that the engine belongs to."""

    info = replace(ToneRecognizer.info, name="lethal", inline=False)

    def recognize(
        self, request: RecognitionRequest, audio: Iterable[AudioChunk]
    ) -> Iterator[Transcript]:
        yield from super().recognize(request, self._listen(audio))

    def _listen(self, audio: Iterable[AudioChunk]) -> Iterator[AudioChunk]:
        for chunk in audio:
            if chunk.pcm[:2] == b"\xff\x7f":
                os.kill(os.getppid(), signal.SIGKILL)
                time.sleep(30)  # the worker's end is this process's
            yield chunk
