"""Models of sherpa-onnx as writers: what streams, and what takes an utterance whole."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from legato.engines.moonshine import FORMAT
from legato.engines.segments import Written
from legato.engines.sherpa.directory import Model, ModelType
from legato.engines.sherpa.tokens import confidence, words

_CHUNK: Final = 61
"""Frames of 10 ms that streaming paraformer takes at once; zipformer names its number."""

_MARGIN: Final = 0.1
"""Seconds of silence beyond a chunk, after an utterance: the last of it must fill one."""

_TAGS: Final = "<|>"

V = TypeVar("V")


def tail(metadata: Mapping[str, str]) -> NDArray[np.float32]:
    """Return the silence that makes a model that streams write what it still holds back."""
    frames = metadata.get("T", "")
    chunk = int(frames) if frames.isdecimal() else _CHUNK
    return np.zeros(FORMAT.samples(chunk * 0.01 + _MARGIN), np.float32)


class StreamingWriter:
    """A model that takes audio piece by piece, for one stream.

    Args:
        recognizer: An `OnlineRecognizer`.
        model: What it was made of.
        hotwords: As sherpa-onnx wants them, "" for none.
        language: What all of it is written in, if that is known.
    """

    def __init__(
        self, recognizer: Any, model: Model, *, hotwords: str = "", language: str | None = None
    ) -> None:
        self._recognizer = recognizer
        self._hotwords = hotwords
        self._language = language
        self._tail = tail(model.metadata)

    def begin(self) -> StreamingDecoding:
        if self._hotwords:
            stream = self._recognizer.create_stream(hotwords=self._hotwords)
        else:
            stream = self._recognizer.create_stream()
        return StreamingDecoding(self._recognizer, stream, self._tail, self._language)


class StreamingDecoding:
    """One utterance in a model that streams.

    Args:
        recognizer: An `OnlineRecognizer`.
        stream: Its state.
        tail: Silence that ends it.
        language: What it is written in, if that is known.
    """

    def __init__(
        self, recognizer: Any, stream: Any, tail: NDArray[np.float32], language: str | None
    ) -> None:
        self._recognizer = recognizer
        self._stream = stream
        self._tail = tail
        self._language = language
        self._samples = 0

    def guess(self, audio: NDArray[np.float32]) -> Written:
        self._samples += len(audio)
        self._take(audio)
        result = self._recognizer.get_result_all(self._stream)
        return Written(" ".join(result.text.split()), (), 0.0, language=self._language)

    def finish(self, audio: NDArray[np.float32]) -> Written:
        self._samples += len(audio)
        self._take(np.concatenate((audio, self._tail)))
        self._stream.input_finished()
        self._decode()
        result = self._recognizer.get_result_all(self._stream)
        text = " ".join(result.text.split())
        length = FORMAT.seconds(self._samples)
        return Written(
            text,
            (),
            confidence(result.ys_probs) or 0.0,
            words(text, result.tokens, result.timestamps, length=length),
            self._language,
        )

    def _take(self, audio: NDArray[np.float32]) -> None:
        if len(audio):
            self._stream.accept_waveform(FORMAT.sample_rate, audio)
            self._decode()

    def _decode(self) -> None:
        while self._recognizer.is_ready(self._stream):
            self._recognizer.decode_stream(self._stream)


class WholeTranscriber:
    """A model that takes a segment whole, for one stream.

    Args:
        recognizer: An `OfflineRecognizer`.
        model: What it was made of.
        language: What all of it is written in, if the model does not say.
    """

    def __init__(self, recognizer: Any, model: Model, *, language: str | None = None) -> None:
        self._recognizer = recognizer
        self._marked = model.type is ModelType.PARAFORMER
        self._language = language

    def transcribe(self, audio: NDArray[np.float32], draft: Sequence[int] | None = None) -> Written:
        del draft  # the model takes none
        stream = self._recognizer.create_stream()
        stream.accept_waveform(FORMAT.sample_rate, audio)
        self._recognizer.decode_stream(stream)
        result = stream.result
        text = " ".join(result.text.split())
        length = FORMAT.seconds(len(audio))
        return Written(
            text,
            (),
            confidence(result.ys_log_probs) or 0.0,
            words(text, result.tokens, result.timestamps, length=length, marked=self._marked),
            str(result.lang).strip(_TAGS) or self._language,
        )

    def forget(self) -> None:
        pass


class Variants(Generic[V]):
    """Copies of a model that differ in what they are bound to while they are loaded.

    Args:
        load: Loads one.
        limit: How many to keep; the one that was not asked for longest goes, once the streams that
            have it are over.
    """

    def __init__(self, load: Callable[[V], Any], limit: int) -> None:
        self._load = load
        self._limit = limit
        self._lock = threading.Lock()
        self._loaded: OrderedDict[V, Any] = OrderedDict()

    def get(self, key: V) -> Any:
        """Return the copy for `key`, loaded if it is not there.

        Raises:
            EngineUnavailable: If it cannot be loaded.
        """
        with self._lock:
            if key not in self._loaded:
                while len(self._loaded) >= self._limit:
                    self._loaded.popitem(last=False)
                self._loaded[key] = self._load(key)
            self._loaded.move_to_end(key)
            return self._loaded[key]
