import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import repeat

import pytest

from legato.audio import AudioChunk, AudioFormat
from legato.engines.base import Recognizer, Synthesizer
from legato.engines.batch_seat import AHEAD
from legato.engines.batching import BatchedRecognizer, BatchedSynthesizer
from legato.errors import (
    EngineFailed,
    EngineUnavailable,
    UnknownVoice,
    UnsupportedFormat,
    UnsupportedText,
)
from legato.speech import RecognitionRequest, SynthesisRequest
from legato.testing.batches import COMPOSITIONS, Course, apart, drive
from tests.standins.tone_bank import Speaking, ToneBank, ToneReader, tone_reader
from tests.unit.engines.gated_engine import DEADLINE, FORMAT, GatedEngine

Stream = Iterator[AudioChunk]


class Hall:
    """Streams of one adapter, each in a thread."""

    def __init__(self, engine: GatedEngine) -> None:
        self.engine = engine
        self.adapter = BatchedSynthesizer(engine)
        self.threads = ThreadPoolExecutor(9)

    def open(self, name: str, text: Iterable[str], *, spare: float = 0.0) -> Stream:
        request = SynthesisRequest(format=FORMAT, voice=name, spare=spare)
        return self.adapter.synthesize(request, text)

    def until_there_are(self, streams: int) -> None:
        while self.adapter.steps.waiting < streams:
            threading.Event().wait(0.001)

    def start(self, name: str, text: str, *, spare: float = 0.0) -> Future[str]:
        return self.threads.submit(said, self.open(name, [text], spare=spare))


def said(stream: Stream) -> str:
    return "".join(map(character, stream))


def character(chunk: AudioChunk) -> str:
    return chr(int.from_bytes(chunk.pcm[:2], "little"))


def close(stream: Stream) -> None:
    getattr(stream, "close")()  # noqa: B009  an iterator need not have one


def interrupt(stream: Stream) -> None:
    getattr(stream, "interrupt")()  # noqa: B009  an iterator need not have one


@contextmanager
def hall(*, open_gate: bool = False, seconds: float = 0.1) -> Iterator[Hall]:
    found = Hall(GatedEngine(open_gate=open_gate, seconds=seconds))
    with found.threads:
        yield found
        found.engine.let(1_000)
    found.adapter.close()


def test_it_is_an_ordinary_engine() -> None:
    assert isinstance(BatchedSynthesizer(GatedEngine()), Synthesizer)
    assert isinstance(tone_reader(), Recognizer)


def test_a_stream_alone_is_spoken() -> None:
    with hall(open_gate=True) as here:
        chunks = list(here.open("a", ["ab", "c"]))
    assert "".join(map(character, chunks)) == "abc"
    assert [chunk.sample for chunk in chunks] == [0, 800, 1_600]
    assert {chunk.format for chunk in chunks} == {FORMAT}


def test_long_outputs_are_handed_out_in_pieces() -> None:
    with hall(open_gate=True, seconds=0.5) as here:
        assert [chunk.duration for chunk in here.open("a", ["a"])] == [0.2, 0.2, 0.1]


def test_streams_that_come_during_a_step_are_in_the_next() -> None:
    with hall() as here:
        running = [here.start("a", "aaa")]
        assert here.engine.next_step() == "a"
        running += [here.start("b", "bb"), here.start("c", "c")]
        here.until_there_are(3)
        here.engine.let()
        assert sorted(here.engine.next_step()) == ["a", "b", "c"]
        here.engine.let(20)
        assert [part.result(DEADLINE) for part in running] == ["aaa", "bb", "c"]


def test_a_step_takes_no_more_than_the_engine_does_and_all_get_their_turn() -> None:
    with hall(seconds=0.6) as here:
        running = [here.start("a", "a" * 9)]
        assert here.engine.next_step() == "a"
        running += [here.start(name, name * 9) for name in "bcdefg"]
        here.until_there_are(7)
        steps = []
        for _ in range(7):
            here.engine.let()
            steps.append(here.engine.next_step())
        here.engine.let(100)
        assert [len(part.result(DEADLINE)) for part in running] == [9 * 3] * 7
    assert set(map(len, steps)) == {GatedEngine.max_batch}
    assert {"".join(steps).count(name) for name in "abcdefg"} == {4}


def test_a_stream_that_is_closed_is_in_no_further_step() -> None:
    with hall() as here:
        stays = here.start("a", "aaaa")
        assert here.engine.next_step() == "a"
        leaving = here.open("b", ["bbbb"])
        left = here.threads.submit(said, leaving)
        here.until_there_are(2)
        here.engine.let()
        assert sorted(here.engine.next_step()) == ["a", "b"]
        interrupt(leaving)
        here.engine.let(9)
        assert [here.engine.next_step() for _ in range(2)] == ["a", "a"]
        assert here.engine.released.get(timeout=DEADLINE) == "b"
        assert (stays.result(DEADLINE), left.result(DEADLINE)) == ("aaaa", "")


def test_closing_frees_what_the_stream_had() -> None:
    with hall(open_gate=True) as here:
        stream = here.open("a", ["aaaa"])
        assert character(next(stream)) == "a"
        close(stream)
        assert here.engine.released.get_nowait() == "a"
        assert list(stream) == []


def test_a_stream_that_was_not_begun_can_be_closed() -> None:
    with hall() as here:
        stream = here.open("a", ["a"])
        close(stream)
        assert list(stream) == []


def test_text_that_breaks_off_frees_what_the_stream_had() -> None:
    class Abandoned(BaseException):
        pass

    def text() -> Iterator[str]:
        yield "a"
        raise Abandoned

    with hall(open_gate=True) as here:
        stream = here.open("a", text())
        assert character(next(stream)) == "a"
        with pytest.raises(Abandoned):
            next(stream)
        assert here.engine.released.get_nowait() == "a"


def test_a_step_that_fails_fails_all_that_are_in_it_and_no_other() -> None:
    with hall() as here:
        first = here.start("a", "aa")
        assert here.engine.next_step() == "a"
        others = [here.start(name, f"{name}!") for name in "bc"]
        here.engine.let(50)
        for other in others:
            with pytest.raises(EngineFailed, match="gated raised ZeroDivisionError"):
                other.result(DEADLINE)
        failed = first.exception(DEADLINE)  # it may have been in the same step
        assert failed is None or isinstance(failed, EngineFailed)
        assert here.start("d", "d").result(DEADLINE) == "d"
        assert sorted(here.engine.released.get(timeout=DEADLINE) for _ in range(4)) == list("abcd")


def test_a_failed_step_is_told_with_the_trace_of_its_cause() -> None:
    with hall(open_gate=True) as here, pytest.raises(EngineFailed) as caught:
        said(here.open("a", ["!"]))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert any(entry.name == "_said" for entry in caught.traceback)


def test_an_engine_that_answers_for_fewer_streams_than_asked_has_failed() -> None:
    class Short(GatedEngine):
        def step(self, slots: object) -> list[object]:  # type: ignore[override]  # it is wrong on purpose
            return []

    with pytest.raises(EngineFailed, match="ValueError"):
        said(Hall(Short()).open("a", ["a"]))


@pytest.mark.parametrize(
    ("name", "text", "error", "before"),
    [
        ("a", ["ab?c"], UnsupportedText, "ab"),
        ("a", ["ab", "#"], UnsupportedText, "ab"),
        ("nobody", ["a"], UnknownVoice, ""),
    ],
    ids=["in a step", "in its input", "at its opening"],
)
def test_an_error_of_one_stream_ends_only_that_one(
    name: str, text: list[str], error: type[Exception], before: str
) -> None:
    with hall(open_gate=True) as here:
        other = here.open("z", iter(["z", "z"]))
        assert character(next(other)) == "z"
        heard: list[str] = []
        with pytest.raises(error):
            heard.extend(map(character, here.open(name, text)))
        assert said(other) == "z"


def test_what_came_before_an_error_is_heard() -> None:
    with hall(open_gate=True) as here:
        stream = here.open("a", ["ab?"])
        assert [character(next(stream)) for _ in range(2)] == ["a", "b"]
        with pytest.raises(UnsupportedText):
            next(stream)


def test_a_stream_that_nobody_reads_gets_no_more_steps() -> None:
    with hall(open_gate=True) as here:
        stream = here.open("a", ["a" * 50])
        next(stream)
        other = said(here.open("b", ["b" * 50]))
        assert other == "b" * 50
        steps = "".join(here.engine.began.queue)
        assert steps.count("a") <= AHEAD + 1
        assert said(stream) == "a" * 49


def test_streams_about_to_underrun_come_before_those_far_ahead() -> None:
    with hall(seconds=0.4) as here:
        here.engine.max_batch = 1
        running = [here.start("a", "aaaa")]
        for _ in range(2):
            assert here.engine.next_step() == "a"
            here.engine.let()
        assert here.engine.next_step() == "a"
        running.append(here.start("b", "bb"))
        here.until_there_are(2)
        here.engine.let(3)
        assert [here.engine.next_step() for _ in range(3)] == ["b", "b", "a"]
        here.engine.let(9)
        assert [part.result(DEADLINE) for part in running] == ["aa" * 4, "bb" * 2]


def test_a_stream_brings_the_lead_that_it_has_from_what_was_said_before() -> None:
    with hall() as here:
        here.engine.max_batch = 1
        running = [here.start("a", "a")]
        assert here.engine.next_step() == "a"
        for name, spare in (("b", 60.0), ("c", 0.0), ("d", 0.2)):
            running.append(here.start(name, name, spare=spare))
            here.until_there_are(len(running))
        here.engine.let(20)
        assert [part.result(DEADLINE) for part in running] == ["a", "b", "c", "d"]
        steps = list(dict.fromkeys(here.engine.began.queue))  # each has one more, at its end
        assert [name for name in steps if name != "a"] == ["d", "c", "b"]


def test_the_thread_ends_with_the_last_stream_and_comes_again() -> None:
    with hall(open_gate=True) as here:
        for _ in range(2):
            assert said(here.open("a", ["a"])) == "a"
            for thread in threading.enumerate():
                if thread.name == "steps-gated":
                    thread.join(DEADLINE)
                    assert not thread.is_alive()


def test_an_engine_that_ends_the_thread_fails_its_streams_and_serves_the_next() -> None:
    with hall(open_gate=True) as here:
        with pytest.raises(EngineFailed, match="SystemExit"):
            said(here.open("a", ["%"]))
        assert said(here.open("b", ["b"])) == "b"


def test_closing_the_engine_fails_its_streams() -> None:
    with hall(open_gate=True) as here:
        stream = here.threads.submit(said, here.open("a", repeat("a")))
        assert here.engine.next_step() == "a"
        here.adapter.close()
        with pytest.raises(EngineFailed, match="closed"):
            stream.result(DEADLINE)
        with pytest.raises(EngineFailed, match="closed"):
            said(here.open("b", ["b"]))


def test_audio_in_another_format_is_refused() -> None:
    engine = tone_reader(units=8)
    engine.load()
    wrong = AudioChunk(bytes(80), AudioFormat(8_000))
    with pytest.raises(UnsupportedFormat):
        list(engine.recognize(RecognitionRequest(format=AudioFormat(16_000)), [wrong]))
    engine.close()


def test_what_the_engine_says_of_its_installation_is_passed_on() -> None:
    class Missing(GatedEngine):
        add_command = 'pip install "x"'

        def check(self) -> None:
            raise EngineUnavailable("x is missing")

    adapter = BatchedSynthesizer(Missing())
    assert adapter.add_command == 'pip install "x"'
    with pytest.raises(EngineUnavailable):
        adapter.check()
    bare = BatchedRecognizer(ToneReader())
    assert bare.add_command is None
    bare.check()


def test_the_contract_sees_an_engine_whose_streams_touch_each_other() -> None:
    class Leaky(ToneBank):
        def _sing(self, slots: list[Speaking]) -> list[bytes]:  # type: ignore[override]  # a list is what comes
            first, *others = super()._sing(slots)
            return [first, *(first for _ in others)]

    engine = Leaky(units=8)
    engine.load()

    def courses() -> list[Course[bytes]]:
        request = SynthesisRequest(format=AudioFormat(16_000))
        return [Course(engine, request, [text]) for text in ("abc", "xyz")]

    together = courses()
    drive(engine, together, COMPOSITIONS["together"])
    assert [course.outputs for course in together] != apart(courses(), engine)
