import os
import threading
import wave
from contextlib import ExitStack
from pathlib import Path

import pytest

from legato.audio import AudioFormat
from legato.engines.cosyvoice.clones import MOST, Clones, as_file
from legato.speech.voices import VoicePrompt

PCM = bytes(range(200)) * 720


def prompt(name: str = "anna", *, text: str = "I said this.") -> VoicePrompt:
    form = AudioFormat(24_000)
    return VoicePrompt(name=name, pcm=PCM, format=form, text=text, digest=f"{name}-digest")


class Model:
    """Notes what it is to learn and to forget."""

    def __init__(self) -> None:
        self.learnt: list[tuple[bytes, str]] = []
        self.known: dict[str, str] = {}
        self.clones = Clones(self.learn, self.drop)

    def learn(self, path: str, text: str, name: str) -> None:
        for _ in range(3):  # it opens the file for each thing that it makes of it
            with wave.open(path) as file:
                pcm = file.readframes(1_000_000)
                assert (file.getframerate(), file.getnchannels()) == (24_000, 1)
        self.learnt.append((pcm, text))
        self.known[name] = text

    def drop(self, name: str) -> None:
        del self.known[name]

    def speak(self, name: str = "anna", text: str = "so") -> str:
        with self.clones.lent(prompt(name), text) as known:
            assert known in self.known
            return known


def test_a_recording_is_learnt_once() -> None:
    model = Model()
    assert model.speak() == model.speak()
    assert model.learnt == [(PCM, "so")]


def test_another_text_is_another_voice() -> None:
    model = Model()
    assert model.speak() != model.speak(text="other words")
    assert [text for _, text in model.learnt] == ["so", "other words"]


def test_the_voices_that_are_silent_for_longest_are_dropped() -> None:
    model = Model()
    names = [f"v{number}" for number in range(MOST + 1)]
    for name in names[:MOST]:
        model.speak(name)
    model.speak(names[0])
    model.speak(names[MOST])
    assert len(model.known) == len(model.clones) == MOST
    model.speak(names[0])
    assert len(model.learnt) == MOST + 1
    model.speak(names[1])
    assert len(model.learnt) == MOST + 2


def test_a_voice_that_speaks_is_not_dropped() -> None:
    model = Model()
    with ExitStack() as speaking:
        for number in range(MOST + 3):
            speaking.enter_context(model.clones.lent(prompt(f"v{number}"), "so"))
        assert len(model.known) == MOST + 3
    assert len(model.known) == len(model.clones) == MOST


def test_a_voice_is_forgotten_at_once_with_all_its_texts() -> None:
    model = Model()
    for text in ("so", "other words"):
        model.speak(text=text)
    model.speak("bob")
    model.clones.forget("anna-digest")
    assert len(model.known) == 1
    model.clones.forget("nobody")


def test_a_voice_that_speaks_is_forgotten_when_it_is_silent() -> None:
    model = Model()
    with model.clones.lent(prompt(), "so"), model.clones.lent(prompt(), "so"):
        model.clones.forget("anna-digest")
        assert len(model.known) == 1
    assert model.known == {}
    assert len(model.clones) == 0


def test_a_voice_that_is_asked_for_again_is_not_forgotten() -> None:
    model = Model()
    with model.clones.lent(prompt(), "so"):
        model.clones.forget("anna-digest")
        with model.clones.lent(prompt(), "so"):
            pass
    assert len(model.known) == 1


def test_forgetting_does_not_wait_for_learning() -> None:
    model = Model()
    model.speak("bob")
    begun, go_on = threading.Event(), threading.Event()

    def slow(path: str, text: str, name: str) -> None:
        begun.set()
        assert go_on.wait(10)
        Model.learn(model, path, text, name)

    clones = model.clones
    clones._learn = slow  # noqa: SLF001  a model that is slow now
    thread = threading.Thread(target=model.speak)
    thread.start()
    assert begun.wait(10)
    clones.forget("bob-digest")
    assert model.known == {}
    go_on.set()
    thread.join()
    assert len(model.known) == 1


def test_what_cannot_be_learnt_is_not_known() -> None:
    def fail(path: str, text: str, name: str) -> None:
        raise AssertionError("prompt wav is too low")

    clones = Clones(fail, lambda name: None)
    with pytest.raises(AssertionError), clones.lent(prompt(), "so"):
        pass
    assert len(clones) == 0


def test_a_recording_is_a_file_that_leaves_nothing_behind() -> None:
    with as_file(prompt()) as path:
        for _ in range(2):
            with wave.open(path) as file:
                assert file.readframes(1_000_000) == PCM
    assert not Path(path).exists()


def test_where_memory_cannot_be_a_file_it_is_one_on_a_disk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(os, "memfd_create", raising=False)
    with as_file(prompt()) as path, wave.open(path) as file:
        assert file.readframes(1_000_000) == PCM
    assert not Path(path).exists()
