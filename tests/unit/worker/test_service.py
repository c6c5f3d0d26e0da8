import queue
import threading
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import pytest

from legato.audio import AudioChunk, AudioFormat
from legato.engines.base import Checkpoint, EngineInfo, EngineKind
from legato.errors import Internal, UnsupportedText
from legato.speech import RecognitionRequest, SynthesisRequest, Transcript
from legato.speech.sound.treatment import Treatment
from legato.worker.board import NoBoard, SlotState
from legato.worker.frames import (
    WINDOW_BYTES,
    Abandon,
    CallOutput,
    Consumed,
    EndInput,
    Failed,
    Feed,
    Finished,
    Grant,
    Heard,
    Listen,
    Reached,
    Sound,
    Speak,
)
from legato.worker.service import Engine, Service, service_for

NARROW = AudioFormat(8_000)
WIDE = AudioFormat(16_000)
SPEAKER = EngineInfo(name="fake", kind=EngineKind.SYNTHESIZE, version="1", format=NARROW)
LISTENER = EngineInfo(name="fake", kind=EngineKind.RECOGNIZE, version="1", format=NARROW)


class FakeSpeaker:
    """Ten samples for each character; what it was asked and whether it cleaned up is kept."""

    def __init__(self, info: EngineInfo = SPEAKER, *, samples: int = 10) -> None:
        self.info = info
        self.samples = samples
        self.said: list[str] = []
        self.cleaned_up = threading.Event()
        self.error: BaseException | None = None

    def load(self) -> None:
        return

    def close(self) -> None:
        return

    def synthesize(self, request: SynthesisRequest, text: Iterable[str]) -> Iterator[AudioChunk]:
        try:
            for piece in text:
                self.said.append(piece)
                if self.error is not None:
                    raise self.error
                ramp = np.arange(self.samples * len(piece), dtype="<i2")
                yield AudioChunk(ramp.tobytes(), self.info.format or request.format)
        finally:
            self.cleaned_up.set()


class FakeListener:
    """Says what it heard as soon as it hears it."""

    def __init__(self) -> None:
        self.info = LISTENER
        self.heard: list[AudioChunk] = []
        self.request: RecognitionRequest | None = None

    def load(self) -> None:
        return

    def close(self) -> None:
        return

    def recognize(
        self, request: RecognitionRequest, audio: Iterable[AudioChunk]
    ) -> Iterator[Transcript | Checkpoint]:
        self.request = request
        end = 0
        for chunk in audio:
            self.heard.append(chunk)
            end = chunk.sample + chunk.samples
            yield Transcript(text="a", final=False, start=0, end=end)
        yield Transcript(text="a", final=True, start=0, end=end)
        yield Checkpoint(end)


class Bench:
    """A service in its thread, without a worker."""

    def __init__(
        self,
        engine: Engine,
        audio: AudioFormat = WIDE,
        *,
        request: SynthesisRequest | None = None,
    ) -> None:
        self.board = NoBoard(1)
        self.outputs: queue.SimpleQueue[CallOutput] = queue.SimpleQueue()
        speaks = engine.info.kind is EngineKind.SYNTHESIZE
        command = (
            Speak(3, 0, request or SynthesisRequest(format=audio))
            if speaks
            else Listen(3, 0, RecognitionRequest(format=audio))
        )
        self.service: Service = service_for(
            command, engine, board=self.board, send=self.outputs.put
        )
        self.service.start()

    def next(self) -> CallOutput:
        return self.outputs.get(timeout=20)

    def rest(self) -> list[CallOutput]:
        outputs = [self.next()]
        while not isinstance(outputs[-1], Finished | Failed):
            outputs.append(self.next())
        return outputs


def test_speech_comes_in_the_format_of_the_request() -> None:
    engine = FakeSpeaker()
    bench = Bench(engine)
    bench.service.deliver(Feed(3, text="ab"))
    bench.service.deliver(EndInput(3))
    outputs = bench.rest()
    assert outputs[0] == Consumed(3, 2)
    assert outputs[-1] == Finished(3)
    sound = b"".join(output.pcm for output in outputs if isinstance(output, Sound))
    assert len(sound) == 2 * 2 * 20
    assert engine.said == ["ab"]
    assert bench.board.state(0) is SlotState.FREE


def test_speech_in_the_right_format_is_passed_on_untouched() -> None:
    bench = Bench(FakeSpeaker(replace(SPEAKER, format=None)))
    bench.service.deliver(Feed(3, text="abc"))
    bench.service.deliver(EndInput(3))
    sounds = [output for output in bench.rest() if isinstance(output, Sound)]
    assert sounds == [Sound(3, np.arange(30, dtype="<i2").tobytes())]


@pytest.mark.parametrize("audio", [NARROW, WIDE])
def test_speech_is_treated_as_asked_before_it_is_converted(audio: AudioFormat) -> None:
    asked = SynthesisRequest(format=audio, treatment=Treatment(gain_db=-6.0, tail=0.0))
    bench = Bench(FakeSpeaker(samples=2_000), request=asked)
    bench.service.deliver(Feed(3, text="a"))
    bench.service.deliver(EndInput(3))
    pcm = b"".join(output.pcm for output in bench.rest() if isinstance(output, Sound))
    sound = np.frombuffer(pcm, "<i2")
    assert len(sound) == audio.samples(2_000 / NARROW.sample_rate)
    assert sound[0] == 0
    assert sound[len(sound) // 2] == pytest.approx(1_000 / 2, abs=4)


def test_more_speech_than_the_window_waits_for_the_worker() -> None:
    bench = Bench(FakeSpeaker(replace(SPEAKER, format=WIDE), samples=WINDOW_BYTES))
    bench.service.deliver(Feed(3, text="a"))
    bench.service.deliver(EndInput(3))
    assert bench.next() == Consumed(3, 1)
    taken = 0
    while taken + 6_400 <= WINDOW_BYTES:
        sound = bench.next()
        assert isinstance(sound, Sound)
        assert len(sound.pcm) == 6_400
        taken += 6_400
    bench.service.deliver(Grant(3, taken))
    bench.service.deliver(Grant(3, WINDOW_BYTES))
    assert isinstance(bench.rest()[-1], Finished)


def test_an_engine_that_waits_for_text_is_ended_by_a_cancel() -> None:
    engine = FakeSpeaker()
    bench = Bench(engine)
    bench.service.deliver(Feed(3, text="a"))
    assert bench.next() == Consumed(3, 1)
    bench.service.deliver(Abandon(3))
    assert isinstance(bench.rest()[-1], Finished)
    assert engine.cleaned_up.wait(20)


def test_an_engine_that_waits_to_be_heard_is_ended_by_a_cancel() -> None:
    engine = FakeSpeaker(replace(SPEAKER, format=WIDE), samples=WINDOW_BYTES)
    bench = Bench(engine)
    bench.service.deliver(Feed(3, text="a"))
    assert bench.next() == Consumed(3, 1)
    bench.service.deliver(Abandon(3))
    assert isinstance(bench.rest()[-1], Finished)
    assert engine.cleaned_up.wait(20)


def test_an_engines_own_error_keeps_its_code_and_facts() -> None:
    engine = FakeSpeaker()
    engine.error = UnsupportedText("cannot", characters="é")
    bench = Bench(engine)
    bench.service.deliver(Feed(3, text="é"))
    last = bench.rest()[-1]
    assert isinstance(last, Failed)
    assert (last.code, last.message) == ("unsupported_text", "cannot")
    assert last.facts == {"characters": "é"}


@pytest.mark.parametrize("error", [ValueError("said é"), SystemExit(1), KeyboardInterrupt()])
def test_whatever_an_engine_raises_is_engine_failed(error: BaseException) -> None:
    engine = FakeSpeaker()
    engine.error = error
    bench = Bench(engine)
    bench.service.deliver(Feed(3, text="é"))
    last = bench.rest()[-1]
    assert isinstance(last, Failed)
    assert last.code == "engine_failed"
    assert f"fake raised {type(error).__name__}" in last.message
    assert "synthesize" in last.trace
    assert "é" not in last.message + last.trace


def test_an_engine_that_breaks_its_word_about_the_format_fails() -> None:
    class Liar(FakeSpeaker):
        def synthesize(
            self, request: SynthesisRequest, text: Iterable[str]
        ) -> Iterator[AudioChunk]:
            yield AudioChunk(b"\0\0", AudioFormat(22_050))

    last = Bench(Liar()).rest()[-1]
    assert isinstance(last, Failed)
    assert "declared" in last.message


def test_audio_reaches_the_engine_in_its_own_format() -> None:
    engine = FakeListener()
    bench = Bench(engine)
    for _ in range(2):
        bench.service.deliver(Feed(3, pcm=bytes(3_200)))
    bench.service.deliver(EndInput(3))
    bench.rest()
    assert engine.request is not None
    assert engine.request.format == NARROW
    assert {chunk.format for chunk in engine.heard} == {NARROW}
    assert sum(chunk.samples for chunk in engine.heard) == 1_600
    starts = [chunk.sample for chunk in engine.heard]
    ends = [chunk.sample + chunk.samples for chunk in engine.heard]
    assert starts == [0, *ends[:-1]]


def test_positions_come_back_in_the_format_of_the_request() -> None:
    bench = Bench(FakeListener())
    bench.service.deliver(Feed(3, pcm=bytes(3_200)))
    bench.service.deliver(EndInput(3))
    outputs = bench.rest()
    final = next(o for o in outputs if isinstance(o, Heard) and o.transcript.final)
    assert final.transcript.end == 1_600
    assert Reached(3, 1_600) in outputs


def test_an_engine_is_asked_for_what_it_is() -> None:
    with pytest.raises(Internal, match="fake was asked to listen"):
        service_for(
            Listen(0, 0, RecognitionRequest(format=WIDE)),
            FakeSpeaker(),
            board=NoBoard(1),
            send=lambda _: None,
        )
