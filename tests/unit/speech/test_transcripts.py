import dataclasses

import pytest

from legato.speech import Transcript, Word


def test_what_an_engine_does_not_give_is_absent() -> None:
    transcript = Transcript(text="hello", final=False)
    assert transcript.words == ()
    assert (transcript.confidence, transcript.language, transcript.decoding_delay) == (None,) * 3
    assert Word("hello", 0.1, 0.4).confidence is None


def test_a_transcript_never_changes() -> None:
    transcript = Transcript(text="hello", final=True, start=0, end=320)
    with pytest.raises(dataclasses.FrozenInstanceError):
        transcript.text = "goodbye"  # type: ignore[misc]  # that is the point
