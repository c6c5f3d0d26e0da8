import threading
from collections.abc import Generator, Iterator
from contextlib import suppress
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from legato.engines.cosyvoice.call import BACKLOG, Call, Chunk, Word, failure, samples
from legato.engines.cosyvoice.run import Abandoned, Run
from legato.errors import EngineFailed, UnsupportedText
from tests.standins.cosyvoice.sound import Tensor

Text = Generator[str, None, None]


class Stage:
    """A call, and when its model is free."""

    def __init__(self, speak: Any, *, progress_timeout: float = 10.0) -> None:
        self.freed = threading.Event()
        self.run = Run(ModuleType("model"), 25)
        self.call = Call(self.run, speak, freed=self.freed.set, progress_timeout=progress_timeout)
        self.call.start()


def output(value: float = 0.5) -> dict[str, Tensor]:
    return {"tts_speech": Tensor(np.full((1, 4), value, np.float32))}


def test_chunks_come_in_order_and_then_the_end() -> None:
    stage = Stage(lambda _text: iter([output(0.1), output(0.2)]))
    first, second = stage.call.next(), stage.call.next()
    assert isinstance(first, Chunk)
    assert isinstance(second, Chunk)
    assert (first.audio[0], second.audio[0]) == (np.float32(0.1), np.float32(0.2))
    assert stage.call.next() is Word.OVER
    assert stage.freed.wait(5)


def test_no_more_is_made_ahead_than_the_backlog() -> None:
    made: list[int] = []

    def speak(_text: Text) -> Iterator[dict[str, Tensor]]:
        for number in range(100):
            made.append(number)
            yield output()

    stage = Stage(speak)
    stage.call.next()
    threading.Event().wait(0.05)
    assert len(made) <= BACKLOG + 2
    stage.call.close()
    assert stage.freed.wait(5)
    assert len(made) <= BACKLOG + 2


def test_text_is_asked_for_and_given() -> None:
    def speak(text: Text) -> Iterator[dict[str, Tensor]]:
        assert isinstance(text, Generator)
        for piece in text:
            yield output(float(piece))

    stage = Stage(speak)
    assert stage.call.next() is Word.WANTS_TEXT
    stage.call.give("0.5")
    chunk = stage.call.next()
    assert isinstance(chunk, Chunk)
    assert chunk.audio[0] == np.float32(0.5)
    assert stage.call.next() is Word.WANTS_TEXT
    stage.call.give(None)
    assert stage.call.next() is Word.OVER


def test_a_call_that_waits_for_text_can_be_closed() -> None:
    stage = Stage(lambda text: iter([output() for _ in text]))
    assert stage.call.next() is Word.WANTS_TEXT
    stage.call.close()
    assert stage.freed.wait(5)


def test_an_error_is_a_failure_of_the_engine_after_what_was_made() -> None:
    def speak(_text: Text) -> Iterator[dict[str, Tensor]]:
        yield output()
        raise ValueError("what was said")

    stage = Stage(speak)
    assert isinstance(stage.call.next(), Chunk)
    with pytest.raises(EngineFailed, match="CosyVoice raised ValueError") as failed:
        stage.call.next()
    assert "what was said" not in str(failed.value)
    assert stage.freed.wait(5)


def test_silence_for_too_long_is_a_failure() -> None:
    go_on = threading.Event()

    def speak(_text: Text) -> Iterator[dict[str, Tensor]]:
        go_on.wait(20)
        yield output()

    stage = Stage(speak, progress_timeout=0.1)
    with pytest.raises(EngineFailed, match="neither a token nor a sample"):
        stage.call.next()
    assert not stage.freed.is_set()
    go_on.set()
    assert stage.freed.wait(5)


def test_a_model_that_makes_tokens_is_not_given_up() -> None:
    stage_ready, enough = threading.Event(), threading.Event()

    def speak(_text: Text) -> Iterator[dict[str, Tensor]]:
        stage_ready.wait(5)
        tokens = vars(stage.run._model).setdefault("tokens", {"a": []})["a"]  # noqa: SLF001  so
        stage.run.begin_clip("a")
        while not enough.wait(0.05) and len(tokens) < 20:
            tokens.append(0)
        yield output()

    stage = Stage(speak, progress_timeout=0.5)
    stage_ready.set()
    assert isinstance(stage.call.next(), Chunk)


@pytest.mark.parametrize("wrong", [{}, {"tts_speech": None}, {"tts_speech": [1, 2]}])
def test_what_is_no_speech_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(EngineFailed, match="something else than speech"):
        samples(wrong)


def test_our_own_errors_stay_what_they_are() -> None:
    error = UnsupportedText("x")
    assert failure(error) is error


def test_text_is_not_asked_for_while_sound_can_be_made_of_what_was_given() -> None:
    """The language model is ahead: only when a look for tokens finds too few, text is wanted."""
    halted, go_on = threading.Event(), threading.Event()

    def read(text: Text) -> None:
        with suppress(Abandoned):
            for _ in text:
                halted.set()

    def speak(text: Text) -> Iterator[dict[str, Tensor]]:
        reader = threading.Thread(target=read, args=(text,), daemon=True)
        reader.start()
        go_on.wait(10)
        yield output()
        while reader.is_alive():
            stage.run.pause(0.001)

    stage = Stage(speak)
    stage.call.give("first")
    assert halted.wait(10)
    go_on.set()
    assert isinstance(stage.call.next(), Chunk)
    assert stage.call.next() is Word.WANTS_TEXT
    stage.call.close()
    assert stage.freed.wait(5)
