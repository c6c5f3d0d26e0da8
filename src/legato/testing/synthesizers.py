"""What every synthesizer must keep to: `legato.engines.base.Synthesizer`, as tests."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from typing import Final

import pytest

from legato.audio import AudioChunk, AudioFormat, level_dbfs
from legato.engines.base import EngineKind, Synthesizer
from legato.errors import UnknownVoice, UnsupportedText
from legato.speech import SynthesisRequest
from legato.speech.scripts import is_speakable, scripts_in

CLOSE_LIMIT: Final = 0.2
"""Seconds within which a closed stream must have freed everything."""

STREAMS: Final = 4
"""Streams that are open at once in a test, if the engine has so many slots."""

TEXTS: Final = {
    "English": "The train leaves at 7:30 p.m. from platform nine.",
    "Chinese": "你好，今天天气很好。",
    "mixed": "我用 Python 3.11 写代码。 It works!",
    "accented": "Naïve café, Zoë and Łódź.",
    "Cyrillic": "Привет, мир!",
    "emoji": "\U0001f44b\U0001f3fd \U0001f468‍\U0001f469‍\U0001f467",
    "emoji in text": "Well done \U0001f44f see you\U0001f642Bye",
    "Markdown": "# Title\n\n- **bold**, `code`\n- [a link](https://example.com)\n",
    "signs": "½ + ⅓ = 5/6, 20 °C, 3 ㎏, ™, €5.20, a@example.com, x² → y",
    "punctuation": "...!? —",
    "controls": "a\x00b\x1b[31m\u200b\ufeff\ud800",
    "long number": "1" * 400,
    "long word": "a" * 3000,
}
"""Texts that trip engines. Each is spoken or refused; none is passed over in silence."""

LONG: Final = {
    "sentences": "The quick brown fox jumps over the lazy dog. " * 222,
    "no full stop": "word " * 2000,
}
"""Texts of 10,000 characters in one piece."""


class SynthesizerContract:
    """Subclass it, name the subclass `Test…` and return your engine from `make`.

    Attributes:
        text: Sentences that the engine can speak, one piece each; at least three.
    """

    text: tuple[str, ...] = (
        "Good morning, and welcome to the show.",
        "Today we speak about rivers and bridges.",
        "Thank you for listening.",
        "Goodbye for now.",
    )

    @classmethod
    def make(cls) -> Synthesizer:
        """Return a new engine, not loaded yet."""
        raise NotImplementedError

    @pytest.fixture(scope="class")
    @classmethod
    def engine(cls) -> Iterator[Synthesizer]:
        """The engine, loaded once for all tests of the class."""
        engine = cls.make()
        engine.load()
        yield engine
        engine.close()

    def request(
        self, engine: Synthesizer, *, seed: int = 7, speed: float = 1.0
    ) -> SynthesisRequest:
        """Return a request in the engine's own format, or 24 kHz mono where it has none."""
        return SynthesisRequest(
            format=engine.info.format or AudioFormat(24_000), seed=seed, speed=speed
        )

    def speak(self, engine: Synthesizer, text: Iterable[str], *, speed: float = 1.0) -> bytes:
        """Return all audio of a text."""
        request = self.request(engine, speed=speed)
        return b"".join(chunk.pcm for chunk in engine.synthesize(request, text))

    def attempt(self, engine: Synthesizer, text: str) -> tuple[bytes, str]:
        """Return the audio of one piece of text, and the characters for which it was refused."""
        audio: list[bytes] = []
        try:
            audio.extend(chunk.pcm for chunk in engine.synthesize(self.request(engine), [text]))
        except UnsupportedText as error:
            return b"".join(audio), error.characters or "?"
        return b"".join(audio), ""

    def same(self, engine: Synthesizer, one: bytes, other: bytes) -> bool:
        """Tell whether two renderings of a text are as alike as the engine promises."""
        if engine.info.deterministic:
            return one == other
        return abs(len(one) - len(other)) <= 0.1 * len(one)

    def test_it_fits_the_port(self, engine: Synthesizer) -> None:
        assert isinstance(engine, Synthesizer)
        assert engine.info.kind is EngineKind.SYNTHESIZE
        assert engine.info.name
        assert engine.info.version
        assert engine.info.slots >= 1
        assert engine.info.licence

    def test_it_has_voices_that_are_its_own(self, engine: Synthesizer) -> None:
        names = [voice.name for voice in engine.info.voices]
        assert names
        assert len(set(names)) == len(names)
        assert {voice.engine for voice in engine.info.voices} == {engine.info.name}

    def test_audio_keeps_the_declared_format_without_gaps(self, engine: Synthesizer) -> None:
        request = self.request(engine)
        position = 0
        for chunk in engine.synthesize(request, self.text):
            assert chunk.format == (engine.info.format or request.format)
            assert chunk.format.samples_in(chunk.pcm) > 0
            assert chunk.sample == position
            position += chunk.samples
        assert position > 0

    def test_chunks_are_short_enough_to_cancel_between(self, engine: Synthesizer) -> None:
        chunks = engine.synthesize(self.request(engine), self.text)
        assert max(chunk.duration for chunk in chunks) <= 0.5

    def test_speech_can_be_heard(self, engine: Synthesizer) -> None:
        assert level_dbfs(self.speak(engine, self.text)) > -50

    def test_the_first_audio_comes_before_the_text_ends(self, engine: Synthesizer) -> None:
        asked: list[str] = []

        def text() -> Iterator[str]:
            for piece in self.text:
                asked.append(piece)
                yield piece

        chunks = engine.synthesize(self.request(engine), text())
        next(chunks)
        assert len(asked) < len(self.text)
        close(chunks)

    def test_no_text_is_no_audio(self, engine: Synthesizer) -> None:
        assert self.speak(engine, []) == b""
        assert self.speak(engine, ["", " ", "\n"]) in (b"", self.speak(engine, [" ", "\n"]))

    @pytest.mark.parametrize("name", TEXTS)
    def test_text_is_spoken_or_refused_but_never_passed_over(
        self, engine: Synthesizer, name: str
    ) -> None:
        text = TEXTS[name]
        audio, refused = self.attempt(engine, text)
        assert set(refused) <= set(text)
        assert not (refused and audio)
        if is_speakable(text) and not refused:
            assert level_dbfs(audio) > -60

    def test_text_in_its_scripts_is_not_refused(self, engine: Synthesizer) -> None:
        for text in TEXTS.values():
            if engine.info.scripts and scripts_in(text) <= engine.info.scripts:
                audio, refused = self.attempt(engine, text)
                assert not refused
                assert audio or not is_speakable(text)

    @pytest.mark.parametrize("name", LONG)
    def test_a_long_piece_streams_and_can_be_cancelled(
        self, engine: Synthesizer, name: str
    ) -> None:
        chunks = engine.synthesize(self.request(engine), [LONG[name]])
        first = list(islice(chunks, 20))
        assert len(first) == 20
        assert seconds_to_close(chunks) <= CLOSE_LIMIT

    def test_a_closed_stream_frees_its_slot_at_once(self, engine: Synthesizer) -> None:
        for _ in range(2):
            opened = [
                engine.synthesize(self.request(engine), cycle(self.text))
                for _ in range(min(engine.info.slots, STREAMS))
            ]
            for chunks in opened:
                next(chunks)
            assert max(map(seconds_to_close, opened)) <= CLOSE_LIMIT
        assert self.speak(engine, self.text[:1])

    def test_a_closed_stream_reads_no_more_text(self, engine: Synthesizer) -> None:
        asked: list[str] = []

        def text() -> Iterator[str]:
            for piece in cycle(self.text):
                asked.append(piece)
                yield piece

        chunks = engine.synthesize(self.request(engine), text())
        next(chunks)
        close(chunks)
        before = len(asked)
        assert self.speak(engine, self.text[:1])
        assert len(asked) == before

    def test_the_same_seed_gives_the_same_audio(self, engine: Synthesizer) -> None:
        first, second = (self.speak(engine, self.text) for _ in range(2))
        assert self.same(engine, first, second)

    def test_nothing_stays_from_a_stream_that_broke_off(self, engine: Synthesizer) -> None:
        fresh = self.speak(engine, self.text)
        other = engine.synthesize(self.request(engine), reversed(self.text))
        next(other)
        close(other)
        assert self.same(engine, fresh, self.speak(engine, self.text))

    def test_a_refused_text_harms_no_other(self, engine: Synthesizer) -> None:
        fresh = self.speak(engine, self.text)
        for text in TEXTS.values():
            chunks = engine.synthesize(self.request(engine), [text])
            try:
                next(chunks, None)
            except UnsupportedText:
                continue
            close(chunks)
        assert self.same(engine, fresh, self.speak(engine, self.text))

    def test_parallel_streams_equal_serial_ones(self, engine: Synthesizer) -> None:
        texts = [self.text[i % len(self.text) :] for i in range(min(engine.info.slots, STREAMS))]
        serial = [self.speak(engine, text) for text in texts]
        with ThreadPoolExecutor(len(texts)) as pool:
            parallel = list(pool.map(lambda text: self.speak(engine, text), texts))
        for one, other in zip(serial, parallel, strict=True):
            assert self.same(engine, one, other)

    def test_a_deterministic_engine_can_go_on_from_any_piece(self, engine: Synthesizer) -> None:
        """Another worker repeats what this one had begun, from the piece that it had reached."""
        if engine.info.deterministic:
            whole = self.speak(engine, self.text)
            assert whole.endswith(self.speak(engine, self.text[1:]))

    def test_speed_is_obeyed(self, engine: Synthesizer) -> None:
        slow, fast = (len(self.speak(engine, self.text, speed=speed)) for speed in (0.5, 2.0))
        assert slow > 1.5 * fast

    def test_an_unknown_voice_is_refused(self, engine: Synthesizer) -> None:
        request = SynthesisRequest(format=self.request(engine).format, voice="no such voice")
        with pytest.raises(UnknownVoice):
            next(engine.synthesize(request, self.text))

    def test_every_voice_speaks(self, engine: Synthesizer) -> None:
        for voice in engine.info.voices:
            request = SynthesisRequest(format=self.request(engine).format, voice=voice.name)
            chunks = engine.synthesize(request, self.text)
            assert next(chunks).samples > 0
            close(chunks)


def close(chunks: Iterator[AudioChunk]) -> None:
    """Close an engine's iterator, which is a generator or has a method of this name."""
    closer = getattr(chunks, "close", None)
    assert callable(closer), "the iterator has no close()"
    closer()


def seconds_to_close(chunks: Iterator[AudioChunk]) -> float:
    """Close an engine's iterator and return how long that took."""
    start = time.monotonic()
    close(chunks)
    return time.monotonic() - start
