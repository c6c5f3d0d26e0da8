import pytest

from legato.audio import AudioFormat
from legato.errors import Internal
from legato.speech import SynthesisRequest
from legato.speech.voices import VoicePrompt
from legato.worker.frames import (
    EndInput,
    Forget,
    Speak,
    Splitter,
    Teach,
    decode_command,
    encode,
)
from legato.worker.teaching import KEPT, PIECE_BYTES, Pupil, Teacher

FORM = AudioFormat(24_000)
LONGEST = bytes(range(250)) * 5_760
"""30 s."""


def prompt(name: str = "anna", pcm: bytes = LONGEST) -> VoicePrompt:
    return VoicePrompt(
        name=name, pcm=pcm, format=FORM, text="我说了这个。", digest=f"{name}-digest"
    )


def speak(voice: VoicePrompt | None, call: int = 0) -> Speak:
    return Speak(call, 0, SynthesisRequest(format=FORM, voice="anna", prompt=voice))


class Link:
    """Both ends, with the frames between them."""

    def __init__(self) -> None:
        self.teacher, self.pupil = Teacher(), Pupil()
        self.sent: list[object] = []
        self.size_bytes = 0

    def send(self, command: Speak) -> Speak:
        """Return what the engine process begins."""
        begun: list[Speak] = []
        splitter = Splitter()
        for one in self.teacher.commands(command):
            frame = encode(one)
            self.size_bytes += len(frame)
            for body in splitter.feed(frame):
                self.take(decode_command(body), begun)
        (only,) = begun
        return only

    def take(self, command: object, begun: list[Speak]) -> None:
        self.sent.append(command)
        if isinstance(command, Teach):
            self.pupil.learn(command)
        elif isinstance(command, Speak):
            begun.append(self.pupil.whole(command))

    def forget_all_but(self, *digests: str) -> list[str]:
        forgotten = list(self.teacher.keep_only(digests))
        for one in forgotten:
            self.pupil.forget(one.digest)
        return [one.digest for one in forgotten]


def test_the_longest_recording_arrives_as_it_was() -> None:
    link = Link()
    assert link.send(speak(prompt())) == speak(prompt())
    assert [type(one).__name__ for one in link.sent] == ["Teach", "Teach", "Teach", "Speak"]
    assert len(LONGEST) > 2 * PIECE_BYTES


def test_a_recording_is_sent_once() -> None:
    link = Link()
    link.send(speak(prompt()))
    link.size_bytes = 0
    for call in range(1, 50):
        assert link.send(speak(prompt(), call)) == speak(prompt(), call)
    assert link.size_bytes < 50 * 500


def test_an_empty_recording_arrives() -> None:
    assert Link().send(speak(prompt(pcm=b""))).request.prompt == prompt(pcm=b"")


def test_what_has_no_prompt_passes() -> None:
    link = Link()
    assert link.send(speak(None)) == speak(None)
    assert list(link.teacher.commands(EndInput(1))) == [EndInput(1)]


def test_both_ends_drop_the_recording_that_was_not_used_for_longest() -> None:
    link = Link()
    names = [f"voice{number}" for number in range(KEPT + 1)]
    for name in names[:KEPT]:
        link.send(speak(prompt(name, b"ab")))
    link.send(speak(prompt(names[0], b"ab")))  # used again
    link.send(speak(prompt(names[KEPT], b"ab")))  # one too many: the second goes
    link.sent.clear()
    for name in [names[0], *names[2:], names[1]]:
        assert link.send(speak(prompt(name, b"ab"))) == speak(prompt(name, b"ab"))
    assert [one.digest for one in link.sent if isinstance(one, Teach)] == ["voice1-digest"]


def test_what_is_forgotten_is_sent_again() -> None:
    link = Link()
    for name in ("anna", "bob"):
        link.send(speak(prompt(name, b"ab")))
    assert link.forget_all_but("bob-digest") == ["anna-digest"]
    assert link.forget_all_but("bob-digest") == []
    with pytest.raises(Internal, match="was not told a recording"):
        link.pupil.whole(speak(prompt("anna", b"")))
    link.sent.clear()
    for name in ("anna", "bob"):
        link.send(speak(prompt(name, b"ab")))
    assert [one.digest for one in link.sent if isinstance(one, Teach)] == ["anna-digest"]


def test_who_has_nothing_forgets_nothing() -> None:
    assert list(Teacher().keep_only([])) == []
    Pupil().forget("nobody")
    assert decode_command(encode(Forget("x"))[4:]) == Forget("x")
