import json
from pathlib import Path
from typing import Any

import pytest

from legato.errors import MalformedMessage
from legato.protocol.fields import MAX_NUMBER, MAX_POSITION
from legato.protocol.media import AudioFrame, decode_frame, encode_frame

VECTORS: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "vectors" / "audio_chunk.json").read_text(encoding="utf-8")
)


def name(vector: dict[str, Any]) -> str:
    return str(vector["name"])


def frame_of(vector: dict[str, Any]) -> AudioFrame:
    return AudioFrame(
        bytes.fromhex(vector["payload"]),
        seq=vector["seq"],
        last=vector["last"],
        stream=vector["stream"],
        sample=vector["sample"],
        epoch=vector["epoch"],
        utterance=vector["utterance"],
    )


@pytest.mark.parametrize("vector", VECTORS["frames"], ids=name)
def test_fields_and_bytes_are_those_of_the_vector(vector: dict[str, Any]) -> None:
    frame, data = frame_of(vector), bytes.fromhex(vector["hex"])

    assert encode_frame(frame, stream=frame.stream, epoch=frame.epoch) == data
    assert decode_frame(data) == frame


@pytest.mark.parametrize("vector", VECTORS["accepted"], ids=name)
def test_bytes_of_another_encoder_are_read(vector: dict[str, Any]) -> None:
    assert decode_frame(bytes.fromhex(vector["hex"])) == frame_of(vector)


@pytest.mark.parametrize("vector", VECTORS["refused"], ids=name)
def test_broken_bytes_are_refused(vector: dict[str, Any]) -> None:
    with pytest.raises(MalformedMessage, match=r"AudioChunk|2\^53"):
        decode_frame(bytes.fromhex(vector["hex"]))


def test_stream_and_epoch_are_those_of_the_connection_not_of_the_entry() -> None:
    decoded = decode_frame(encode_frame(AudioFrame(b"x", stream=1, epoch=1), stream=7, epoch=9))

    assert (decoded.stream, decoded.epoch) == (7, 9)


@pytest.mark.parametrize(
    "frame",
    [
        AudioFrame(b"", seq=-1),
        AudioFrame(b"", seq=MAX_NUMBER + 1),
        AudioFrame(b"", utterance=MAX_NUMBER + 1),
        AudioFrame(b"", sample=-1),
        AudioFrame(b"", sample=MAX_POSITION + 1),
    ],
)
def test_a_number_that_does_not_fit_is_refused(frame: AudioFrame) -> None:
    with pytest.raises(MalformedMessage):
        encode_frame(frame, stream=1, epoch=0)


def test_the_way_out_for_bare_pcm_is_named() -> None:
    with pytest.raises(MalformedMessage, match='"framing": "raw"'):
        decode_frame(b"\xff\xff" * 320)
