import dataclasses

import pytest

from legato.audio import AudioFormat
from legato.speech import Endpointing, RecognitionRequest, SynthesisRequest

FORMAT = AudioFormat(16_000)


def test_synthesis_is_at_the_voice_s_own_pace_unless_asked_otherwise() -> None:
    request = SynthesisRequest(format=FORMAT)
    assert (request.voice, request.language, request.speed, request.seed) == (None, None, 1.0, 0)


def test_an_utterance_ends_after_half_a_second_of_silence_unless_asked_otherwise() -> None:
    assert RecognitionRequest(format=FORMAT).endpointing == Endpointing(silence=0.5, threshold=0.5)


@pytest.mark.parametrize("kind", [SynthesisRequest, RecognitionRequest])
def test_a_request_never_changes_and_shares_no_options(
    kind: type[SynthesisRequest | RecognitionRequest],
) -> None:
    request = kind(format=FORMAT)
    with pytest.raises(dataclasses.FrozenInstanceError):
        request.language = "en"  # type: ignore[misc]  # that is the point
    assert request.options is not kind(format=FORMAT).options
