"""An engine that speaks with recordings, for tests in real processes."""

from collections.abc import Iterable, Iterator

from legato.audio import AudioChunk, AudioFormat
from legato.engines.base import Ability, EngineInfo, EngineKind
from legato.speech import SynthesisRequest, Voice

FORM = AudioFormat(24_000)


class Parrot:
    """Says the recording of its prompt; without one, which digests it was told to forget."""

    info = EngineInfo(
        name="parrot",
        kind=EngineKind.SYNTHESIZE,
        version="1",
        format=FORM,
        voices=(Voice(name="own", engine="parrot"),),
        slots=2,
        abilities=frozenset({Ability.CLONING}),
    )

    def __init__(self) -> None:
        self.forgotten: list[str] = []

    def load(self) -> None:
        return

    def close(self) -> None:
        return

    def forget(self, digest: str) -> None:
        self.forgotten.append(digest)
        if digest == "bad":
            raise RuntimeError("it cannot be forgotten")

    def synthesize(self, request: SynthesisRequest, text: Iterable[str]) -> Iterator[AudioChunk]:
        for _ in text:
            prompt = request.prompt
            told = " ".join(self.forgotten)
            pcm = prompt.pcm if prompt is not None else told.encode("utf-16-le")
            yield AudioChunk(pcm, FORM)
