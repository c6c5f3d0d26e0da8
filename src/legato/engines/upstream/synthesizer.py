"""What all synthesizers have in common whose voice is elsewhere."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Generator, Iterable, Iterator, Mapping
from functools import partial
from typing import Generic, TypeVar

from legato.audio import AudioChunk, AudioFormat
from legato.engines.base import EngineInfo
from legato.engines.upstream.cancellation import Cancellation, Stream
from legato.engines.upstream.config import Upstreams
from legato.engines.upstream.dispatch import Attempt
from legato.engines.upstream.engine import UpstreamEngine
from legato.engines.upstream.pcm import Slices, at_speed, limited
from legato.errors import UnknownVoice
from legato.speech import SynthesisRequest

V = TypeVar("V")


class UpstreamSynthesizer(UpstreamEngine, Generic[V]):
    """A voice elsewhere.

    Args:
        info: What the engine says of itself.
        config: Its options.
        form: Of its audio.
        voices: What the upstream knows each voice by; the first is the default.
    """

    def __init__(
        self, info: EngineInfo, config: Upstreams, *, form: AudioFormat, voices: Mapping[str, V]
    ) -> None:
        super().__init__(info, config)
        self._form = form
        self._voices = voices

    @abstractmethod
    def parts(self, text: str) -> Iterable[str]:
        """Return what is to be said of a text, in parts of one request each.

        Raises:
            UnsupportedText: If a character cannot be spoken.
        """

    def synthesize(self, request: SynthesisRequest, text: Iterable[str]) -> Iterator[AudioChunk]:
        """Speak; see `legato.engines.base.Synthesizer`. Any thread may close the iterator."""
        cancellation = Cancellation()
        return Stream(self._spoken(request, text, cancellation), cancellation)

    def voice_for(self, request: SynthesisRequest) -> V:
        """Return what the upstream knows the voice by.

        Raises:
            UnknownVoice: If there is none of this name.
        """
        names = list(self._voices)
        name = request.voice or names[0]
        if name not in self._voices:
            raise UnknownVoice(
                f"{self.info.name} has no voice {name!r} here, only {', '.join(names)}"
            )
        return self._voices[name]

    @abstractmethod
    def _spoken(
        self, request: SynthesisRequest, text: Iterable[str], cancellation: Cancellation
    ) -> Generator[AudioChunk, None, None]:
        """Yield the audio of a text; see `legato.engines.base.Synthesizer`."""


class PartwiseSynthesizer(UpstreamSynthesizer[V]):
    """Speaks part by part, each with a request to one of several upstreams.

    Attributes:
        paced: Whether the upstream itself speaks at another speed.
    """

    paced = False

    @abstractmethod
    def ask(
        self, voice: V, request: SynthesisRequest, part: str, attempt: Attempt[str]
    ) -> Generator[bytes, None, None]:
        """Yield the audio of a part, s16le in whole samples.

        Raises:
            Fault: If the upstream does not do its work.
        """

    def _asked(
        self, voice: V, request: SynthesisRequest, part: str, attempt: Attempt[str]
    ) -> Generator[bytes, None, None]:
        yield from limited(self.ask(voice, request, part, attempt), partial(len, part), self._form)

    def _spoken(
        self, request: SynthesisRequest, text: Iterable[str], cancellation: Cancellation
    ) -> Generator[AudioChunk, None, None]:
        dispatch, voice = self._dispatch, self.voice_for(request)
        slices = Slices(self._form)
        for piece in text:
            for part in self.parts(piece):
                answer = dispatch.run(partial(self._asked, voice, request, part), cancellation)
                try:
                    speed = 1.0 if self.paced else request.speed
                    for pcm in at_speed(answer, speed, self._form.sample_rate):
                        yield from slices.cut(pcm)
                finally:
                    answer.close()
