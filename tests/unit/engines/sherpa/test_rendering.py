import threading

import numpy as np
import pytest

from legato.engines.precedence import Precedence
from legato.engines.sherpa.rendering import Rendering, Take

WAIT = 10.0


def rendering(sentences: list[str], say: "Say", turns: Precedence | None = None) -> Rendering:
    return Rendering(sentences, say, turns or Precedence(1), due=0.0, rate_hz=100)


class Say:
    """Gives as many samples as a sentence has characters, each a piece of its own."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.done = threading.Semaphore(0)
        self.go = threading.Event()
        self.go.set()
        self.entered = threading.Event()
        self.hanging = False

    def __call__(self, sentence: str, take: Take) -> None:
        self.begun.append(sentence)
        self.hanging = True
        self.entered.set()
        try:
            assert self.go.wait(WAIT)
        finally:
            self.hanging = False
        for _ in sentence:
            if not take(np.ones(1, np.float32)):
                break
        self.done.release()


def test_audio_comes_in_order() -> None:
    say = Say()
    assert len(list(rendering(["ab", "c"], say))) == 3
    assert say.begun == ["ab", "c"]


def test_no_more_than_one_sentence_is_made_ahead_and_no_turn_is_held_meanwhile() -> None:
    say, turns = Say(), Precedence(1)
    made = rendering(["ab", "cd", "ef"], say, turns)
    audio = iter(made)
    next(audio)
    assert say.done.acquire(timeout=WAIT)
    assert say.begun == ["ab"]
    with turns.turn():
        pass
    made.close()
    assert say.begun == ["ab"]


def test_closing_does_not_wait_for_a_step_that_hangs_but_its_turn_is_not_lent() -> None:
    say, turns = Say(), Precedence(1)
    say.go.clear()
    made = rendering(["abc", "d"], say, turns)
    assert say.entered.wait(WAIT)
    made.close()
    assert say.hanging
    assert not turns.try_turn()
    say.go.set()
    assert say.done.acquire(timeout=WAIT)
    with turns.turn():
        pass
    assert list(made) == []
    assert say.begun == ["abc"]


def test_an_error_reaches_who_reads_after_what_was_made() -> None:
    def say(_sentence: str, take: Take) -> None:
        take(np.ones(1, np.float32))
        raise ValueError("broken")

    audio = iter(Rendering(["a"], say, Precedence(1), due=0.0, rate_hz=100))
    next(audio)
    with pytest.raises(ValueError, match="broken"):
        next(audio)
