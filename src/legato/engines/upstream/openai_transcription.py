"""The engine `openai` that writes: any server with OpenAI's `POST /v1/audio/transcriptions`.

That route takes whole files, so Silero finds where a segment ends here, and each is one request.
There are no partials: each would be a request that is paid for.
"""

from __future__ import annotations

import io
import time
import wave
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from legato.audio import AudioChunk, to_int16
from legato.engines import silero
from legato.engines.base import Checkpoint, EngineInfo, EngineKind
from legato.engines.moonshine import FORMAT, Recognition, rules
from legato.engines.moonshine_model import Hypothesis
from legato.engines.silero import WINDOW, Silero, SpeechProbability
from legato.engines.upstream import openai_options
from legato.engines.upstream.cancellation import Cancellation, Stream
from legato.engines.upstream.config import configured
from legato.engines.upstream.dispatch import Attempt
from legato.engines.upstream.engine import UpstreamEngine
from legato.engines.upstream.exchange import Request, Timing, exchange
from legato.engines.upstream.faults import Fault, Kind
from legato.engines.upstream.multipart import File, encode
from legato.engines.upstream.openai_options import NAME, TranscriptionOptions
from legato.engines.upstream.secret import Secret
from legato.errors import EngineUnavailable, UnsupportedFormat
from legato.speech import RecognitionRequest, Transcript
from legato.speech.wishes import refuse_words_for_numbers

ROUTE: Final = "audio/transcriptions"
MAX_ANSWER_BYTES: Final = 1 << 20

Result = Transcript | Checkpoint


class OpenAITranscription(UpstreamEngine):
    """An OpenAI-compatible transcription server.

    Args:
        options: Fields of `legato.engines.upstream.openai_options.TranscriptionOptions`.

    Raises:
        EngineUnavailable: If an option is unknown or wrong.
    """

    def __init__(self, **options: object) -> None:
        config = configured(NAME, TranscriptionOptions, options)
        self._options = config
        self._secret = Secret()
        self._silero: Silero | None = None
        info = EngineInfo(
            name=NAME,
            kind=EngineKind.RECOGNIZE,
            version=config.model,
            format=FORMAT,
            languages=config.languages or ("mul",),
            slots=config.slots,
            deterministic=False,
            licence=config.licence,
        )
        super().__init__(info, config)

    def check(self) -> None:
        silero.check()
        self._secret = openai_options.check(self._options)

    def answers(self, url: str) -> bool:
        return openai_options.answers(url, self._secret, self._looking())

    def load(self) -> None:
        super().load()
        self._silero = self._silero or Silero()

    def close(self) -> None:
        super().close()
        self._silero = None

    def recognize(
        self, request: RecognitionRequest, audio: Iterable[AudioChunk]
    ) -> Iterator[Result]:
        """Write down; see `legato.engines.base.Recognizer`. Any thread may close the iterator."""
        cancellation = Cancellation()
        return Stream(self._written(request, audio, cancellation), cancellation)

    def transcribe(
        self, audio: NDArray[np.float32], language: str | None, cancellation: Cancellation
    ) -> str:
        """Return the text of a segment, as the server writes it.

        Args:
            audio: Mono samples at 16 kHz.
            language: BCP 47 tag, None for any.
            cancellation: Of its stream.

        Raises:
            LegatoError: If no server gives one.
        """
        form = encode(
            [("model", self._options.model), ("response_format", "json"), *_language(language)],
            [File("file", "speech.wav", "audio/wav", wav(audio))],
        )
        return "".join(self._dispatch.run(partial(self._ask, form), cancellation))

    def _written(
        self, request: RecognitionRequest, audio: Iterable[AudioChunk], cancellation: Cancellation
    ) -> Generator[Result, None, None]:
        if self._silero is None:
            raise EngineUnavailable(f"{NAME} is not loaded yet")
        refuse_words_for_numbers(request.inverse_normalization, engine=NAME)
        transcriber = _Transcriber(self, request.language, cancellation)
        longest = int(FORMAT.samples(self._options.longest) / WINDOW)
        recognition = _Recognition(
            transcriber,
            SpeechProbability(self._silero),
            replace(rules(request.endpointing), longest=longest),
            time.monotonic,
        )
        for chunk in audio:
            if chunk.format != FORMAT:
                raise UnsupportedFormat(f"{NAME} takes 16000 Hz mono, not {chunk.format}")
            recognition.accept(chunk.pcm, 0.0)
            yield from _in_language(recognition.advance(), request.language)
        yield from _in_language(recognition.finish(), request.language)

    def _ask(self, form: tuple[bytes, str], attempt: Attempt[str]) -> Generator[str, None, None]:
        content, media_type = form
        ask = Request(
            url=f"{attempt.endpoint.rstrip('/')}/{ROUTE}",
            headers={"Content-Type": media_type},
            body=content,
            secret=self._secret,
        )
        with exchange(ask, self.timing(attempt), attempt.cancellation) as answer:
            yield _text(answer.whole(MAX_ANSWER_BYTES))

    def _looking(self) -> Timing:
        config = self._options
        deadline = time.monotonic() + config.first_byte_timeout
        return Timing(connect=config.connect_timeout, deadline=deadline, idle=config.idle_timeout)


class _Transcriber:
    """The servers as what writes the segments of one stream."""

    def __init__(
        self, engine: OpenAITranscription, language: str | None, cancellation: Cancellation
    ) -> None:
        self._engine = engine
        self._language = language
        self._cancellation = cancellation

    def transcribe(self, audio: NDArray[np.float32], draft: Sequence[int] = ()) -> Hypothesis:
        """Return the text of a stretch of audio."""
        text = self._engine.transcribe(audio, self._language, self._cancellation)
        return Hypothesis(text=text.strip(), tokens=tuple(draft), confidence=0.0)


class _Recognition(Recognition):
    """Finals only."""

    def _partial(self) -> Iterator[Transcript]:
        return iter(())


def wav(audio: NDArray[np.float32]) -> bytes:
    """Return mono samples at 16 kHz as a WAV file."""
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(FORMAT.channels)
        file.setsampwidth(FORMAT.sample_bytes)
        file.setframerate(FORMAT.sample_rate)
        file.writeframes(to_int16(audio).astype("<i2").tobytes())
    return buffer.getvalue()


def _text(answer: bytes) -> str:
    try:
        body = msgspec.json.decode(answer)
    except msgspec.DecodeError as error:
        raise Fault(Kind.BROKEN, "the upstream's transcription is no JSON") from error
    text = body.get("text") if isinstance(body, dict) else None
    if not isinstance(text, str):
        raise Fault(Kind.BROKEN, "the upstream's transcription has no text")
    return text


def _language(language: str | None) -> list[tuple[str, str]]:
    return [("language", language.split("-")[0])] if language else []


def _in_language(results: Iterable[Result], language: str | None) -> Iterator[Result]:
    for result in results:
        if isinstance(result, Transcript):
            yield replace(result, language=language, confidence=None)  # not told
        else:
            yield result
