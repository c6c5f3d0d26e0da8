from collections.abc import AsyncIterator

import pytest

from legato.bench.clips import SAMPLE_RATE, Clip
from legato.bench.listening import FRAME_BYTES, PAUSE, SILENCE, Microphone, after_silence
from legato.speech import Transcript

SECOND = bytes(2 * SAMPLE_RATE)
CLIPS = [Clip("one", "one", SECOND), Clip("two", "two", SECOND * 2)]
NEXT = SAMPLE_RATE + round(PAUSE * SAMPLE_RATE)


def final(start: int, at: float) -> tuple[Transcript, float]:
    return Transcript(text="x", final=True, start=start, end=start + 100), at


def test_a_final_counts_from_the_silence_after_its_segment() -> None:
    microphone = Microphone(b"")
    finals = [final(0, 1.0 + SILENCE + 0.1), final(NEXT, 4.5 + SILENCE + 0.2)]
    delays = after_silence(CLIPS, finals, microphone)
    assert delays.seconds == pytest.approx([0.1, 0.2])
    assert delays.silent == 0


def test_of_a_segment_in_two_parts_the_last_one_counts() -> None:
    finals = [final(NEXT, 3.3), final(NEXT + SAMPLE_RATE, 4.5 + SILENCE + 0.3)]
    delays = after_silence(CLIPS, finals, Microphone(b""))
    assert delays.seconds == pytest.approx([0.3])
    assert delays.silent == 1


def test_a_microphone_knows_when_each_sample_is_heard() -> None:
    microphone = Microphone(SECOND)
    assert microphone.due(SAMPLE_RATE // 2) == 0.5
    assert microphone.ended_at == 1.0


async def collected(frames: AsyncIterator[bytes]) -> list[bytes]:
    return [frame async for frame in frames]


async def test_a_microphone_gives_all_that_it_hears() -> None:
    pcm = bytes(range(250)) * 5
    frames = await collected(Microphone(pcm).frames())
    assert b"".join(frames) == pcm
    assert [len(frame) for frame in frames] == [FRAME_BYTES, len(pcm) - FRAME_BYTES]
