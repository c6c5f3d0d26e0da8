import pytest

from legato.audio import AudioFormat, Codec, PayloadFormat
from legato.errors import BadAudio
from legato.flow.digest import Chain
from legato.flow.places import UpPlace
from legato.protocol.media import AudioFrame
from legato.protocol.messages import Cancel, Finalize, Flush, StreamEnd, Text
from legato.session.intake import Intake
from tests.unit.session.ends import PCM, SAMPLES


class Scene:
    """An account, and what it was told to cancel."""

    def __init__(self, place: UpPlace | None = None) -> None:
        self.cancelled: list[int] = []
        self.intake = Intake(AudioFormat(16_000), self.cancelled.append)
        if place is not None:
            self.intake.restore(place)


def test_frames_are_placed_by_our_own_count() -> None:
    frames = [AudioFrame(PCM, stream=3, sample=7, utterance=9), AudioFrame(PCM)]
    Scene().intake.take(frames)
    assert [(f.stream, f.sample, f.utterance) for f in frames] == [(0, 0, 0), (0, SAMPLES, 0)]


def test_audio_alone_is_not_urgent() -> None:
    intake = Scene().intake
    assert not intake.take([AudioFrame(PCM), AudioFrame(PCM, last=True)])
    assert intake.take([AudioFrame(PCM), Flush()])
    assert not intake.take([])


def test_a_place_tells_where_up_stands() -> None:
    intake = Scene().intake
    intake.take([AudioFrame(PCM, last=True), Text(text="abc")])
    assert intake.place(1) == UpPlace(1, SAMPLES, 3, 1, True)
    intake.take([Finalize()])
    assert intake.place(2) == UpPlace(2, SAMPLES, 3, 2, False)


def test_an_end_of_nothing_ends_nothing() -> None:
    intake = Scene().intake
    intake.take([Finalize(), Flush()])
    assert (intake.utterance, intake.speaking) == (0, False)


@pytest.mark.parametrize("asked", [0, 5, 2**32 - 1])
def test_a_cancel_of_what_is_said_ends_it_under_its_own_number(asked: int) -> None:
    scene, cancel = Scene(), Cancel(utterance=asked)
    scene.intake.take([AudioFrame(PCM), cancel])
    assert (cancel.utterance, scene.cancelled) == (0, [0])
    assert (scene.intake.utterance, scene.intake.speaking) == (1, False)


def test_a_cancel_of_what_has_ended_leaves_what_is_said() -> None:
    scene = Scene()
    scene.intake.take([AudioFrame(PCM, last=True), AudioFrame(PCM), Cancel(utterance=0)])
    assert scene.cancelled == [0]
    assert (scene.intake.utterance, scene.intake.speaking) == (1, True)


def test_a_cancel_before_all_speech_cancels_nothing() -> None:
    scene, cancel = Scene(), Cancel(utterance=4)
    scene.intake.take([cancel])
    assert (cancel.utterance, scene.cancelled) == (0, [])


def test_an_end_may_tell_nothing() -> None:
    assert Scene().intake.take([AudioFrame(PCM), StreamEnd()])


def test_an_end_that_tells_what_came_will_do() -> None:
    chain = Chain()
    chain.update(PCM)
    end = StreamEnd(frames=1, samples=SAMPLES, digest=chain.hexdigest())
    assert Scene().intake.take([AudioFrame(PCM), end])


@pytest.mark.parametrize(
    ("end", "said"),
    [
        (StreamEnd(samples=1), "samples 1, what arrived has 320"),
        (StreamEnd(frames=2), "frames 2, what arrived has 1"),
        (StreamEnd(digest="f" * 64), "digest ffff"),
    ],
)
def test_an_end_that_tells_something_else_is_refused(end: StreamEnd, said: str) -> None:
    with pytest.raises(BadAudio, match=said):
        Scene().intake.take([AudioFrame(PCM), end])


def test_it_goes_on_where_another_server_stood() -> None:
    scene = Scene(UpPlace(4, 1000, 20, 3, True))
    frame, cancel = AudioFrame(PCM), Cancel(utterance=9)
    scene.intake.take([frame, Text(text="ab"), cancel])
    assert (frame.sample, frame.utterance) == (1000, 3)
    assert (cancel.utterance, scene.cancelled) == (3, [3])
    assert scene.intake.place(7) == UpPlace(7, 1000 + SAMPLES, 22, 4, False)


def test_what_came_to_another_server_is_not_digested_and_still_measured() -> None:
    end = StreamEnd(frames=99, samples=1000 + SAMPLES, digest="f" * 64)
    Scene(UpPlace(4, 1000)).intake.take([AudioFrame(PCM), end])
    with pytest.raises(BadAudio, match="samples 1, what arrived has 1000"):
        Scene(UpPlace(4, 1000)).intake.take([StreamEnd(samples=1)])


def test_of_a_stream_of_which_nothing_had_come_all_is_checked() -> None:
    with pytest.raises(BadAudio, match="frames 2"):
        Scene(UpPlace()).intake.take([AudioFrame(PCM), StreamEnd(frames=2)])


def test_packets_are_placed_by_their_length() -> None:
    intake = Intake(PayloadFormat(8_000, 1, Codec.OPUS, 60), lambda _: None)
    frames = [AudioFrame(b"one"), AudioFrame(b""), AudioFrame(b"two, longer")]
    intake.take(frames)
    assert [frame.sample for frame in frames] == [0, 480, 480]
    assert intake.upto == 960
