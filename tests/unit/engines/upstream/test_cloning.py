"""CosyVoice's own servers with voices that clients bring: what they are asked for."""

import hashlib
import io
import json
import struct
import wave
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from legato.audio import AudioFormat
from legato.engines.base import Ability, Cloning
from legato.engines.upstream import recording
from legato.engines.upstream.cosyvoice import CosyVoiceUpstream
from legato.engines.upstream.cosyvoice_grpc import CosyVoiceGrpc
from legato.engines.upstream.cosyvoice_http import CosyVoiceHttp
from legato.engines.upstream.triton import CosyVoiceTriton
from legato.errors import UnknownVoice
from legato.speech import SynthesisRequest
from legato.speech.voices import VoicePrompt
from tests.standins.upstream.cosyvoice_http import CosyVoiceFastApi
from tests.standins.upstream.rpc import CosyVoiceRpc, TritonHttp, TritonRpc
from tests.standins.upstream.sound import as_pcm, spoken
from tests.unit.engines.upstream.stage import prompt

TEXT = "Good morning."
SAID = "我是另一个人。"
FORM = AudioFormat(24_000)
Kind = type[CosyVoiceHttp] | type[CosyVoiceGrpc] | type[CosyVoiceTriton]


def own(text: str = SAID, *, hertz: float = 330.0) -> VoicePrompt:
    at = np.arange(24_000 * 4) / 24_000
    pcm = (6_000 * np.sin(2 * np.pi * hertz * at)).astype("<i2").tobytes()
    digest = hashlib.sha256(pcm).hexdigest()
    return VoicePrompt(name="bob", pcm=pcm, format=FORM, text=text, digest=digest)


@contextmanager
def engine(kind: Kind, folder: Path, url: str, **options: object) -> Iterator[CosyVoiceUpstream]:
    prompts = [prompt(folder, "anna")]
    settings = {"urls": [url], "probe_interval": 0, "prompts": prompts, **options}
    with closing(kind(**settings)) as made:
        made.load()
        yield made


def speak(engine: CosyVoiceUpstream, prompt: VoicePrompt | None) -> bytes:
    request = SynthesisRequest(format=FORM, voice=prompt.name if prompt else None, prompt=prompt)
    return b"".join(chunk.pcm for chunk in engine.synthesize(request, [TEXT]))


def is_tone(samples: np.ndarray, hertz: float, level: float) -> bool:
    """Whether 4 s of 16 kHz hold that tone and nothing else."""
    spectrum = np.abs(np.fft.rfft(samples[8_000:56_000])) / 24_000
    peak = int(np.argmax(spectrum))
    return (
        len(samples) == pytest.approx(64_000, abs=20)
        and peak == round(hertz * 3)
        and spectrum[peak] == pytest.approx(level, rel=0.02)
    )


def test_fastapi_is_sent_the_recording_as_a_file_with_its_text(tmp_path: Path) -> None:
    with closing(CosyVoiceFastApi()) as web, engine(CosyVoiceHttp, tmp_path, web.url) as made:
        assert speak(made, own()) == as_pcm(spoken(TEXT, 24_000))
        speak(made, None)
        mine, theirs = web.asked
    with wave.open(io.BytesIO(mine.files["prompt_wav"])) as file:
        assert (file.getframerate(), file.getnchannels()) == (24_000, 1)
        assert file.readframes(1_000_000) == own().pcm
    assert mine.path == "/inference_zero_shot"
    assert mine.fields == {"tts_text": TEXT, "prompt_text": SAID}
    assert theirs.files["prompt_wav"] == (tmp_path / "anna.wav").read_bytes()
    assert theirs.fields["prompt_text"] == "I said this."


def test_grpc_is_sent_the_recording_as_samples_with_its_text(tmp_path: Path) -> None:
    with closing(CosyVoiceRpc()) as rpc, engine(CosyVoiceGrpc, tmp_path, rpc.url) as made:
        assert speak(made, own()) == as_pcm(spoken(TEXT, 24_000))
        (asked,) = rpc.asked
    assert asked.zero_shot.prompt_text == SAID
    assert is_tone(np.frombuffer(asked.zero_shot.prompt_audio, "<i2"), 330.0, 6_000)


def tensors(asked: Any) -> dict[str, bytes]:
    names = [one.name for one in asked.inputs]
    return dict(zip(names, asked.raw_input_contents, strict=True))


def test_triton_is_sent_the_recording_as_floats_with_its_text(tmp_path: Path) -> None:
    with closing(TritonRpc()) as rpc, engine(CosyVoiceTriton, tmp_path, rpc.url) as made:
        assert speak(made, own())
        found = tensors(rpc.asked[0])
    samples = np.frombuffer(found["reference_wav"], "<f4")
    assert is_tone(samples, 330.0, 6_000 / 32_768)
    assert struct.unpack("<i", found["reference_wav_len"]) == (len(samples),)
    assert found["reference_text"][4:].decode() == SAID


def test_triton_over_http_is_sent_the_same(tmp_path: Path) -> None:
    with closing(TritonHttp()) as web, engine(CosyVoiceTriton, tmp_path, web.url) as made:
        assert speak(made, own())
        made.forget(own().digest)
        inputs = {one["name"]: one["data"] for one in json.loads(web.asked[-1].fields["inputs"])}
    assert is_tone(np.array(inputs["reference_wav"]), 330.0, 6_000 / 32_768)
    assert inputs["reference_text"] == [SAID]


@pytest.mark.parametrize(
    ("server", "kind", "text_of"),
    [
        (CosyVoiceRpc, CosyVoiceGrpc, lambda asked: asked.cross_lingual.tts_text),
        (TritonRpc, CosyVoiceTriton, lambda asked: tensors(asked)["target_text"][4:].decode()),
        (CosyVoiceFastApi, CosyVoiceHttp, lambda asked: asked.fields["tts_text"]),
    ],
)
def test_without_a_text_it_is_spoken_as_a_foreign_voice(
    server: Any, kind: Kind, text_of: Any, tmp_path: Path
) -> None:
    with closing(server()) as running, engine(kind, tmp_path, running.url, version=3) as made:
        assert speak(made, own(""))
        assert text_of(running.asked[-1]).endswith(f"<|endofprompt|>{TEXT}")
        assert speak(made, own())  # another one still by its text
        assert text_of(running.asked[-1]) != f"<|endofprompt|>{TEXT}"


def test_a_recording_is_converted_once_until_it_is_forgotten(tmp_path: Path) -> None:
    with closing(CosyVoiceRpc()) as rpc, engine(CosyVoiceGrpc, tmp_path, rpc.url) as made:
        assert isinstance(made, Cloning)
        for _ in range(2):
            speak(made, own(hertz=440.0))
        digest = own(hertz=440.0).digest
        assert digest in recording._kept  # noqa: SLF001  what is kept is looked at from behind
        made.forget(digest)
        assert digest not in recording._kept  # noqa: SLF001  the same
        made.forget(digest)


def test_so_many_recordings_are_kept_and_no_more() -> None:
    for number in range(recording.KEPT + 3):
        recording.samples_of(None, own(hertz=200.0 + number))
    assert len(recording._kept) == recording.KEPT  # noqa: SLF001  the same
    for number in range(recording.KEPT + 3):
        recording.forget(own(hertz=200.0 + number).digest)


@pytest.mark.parametrize(
    ("options", "able"),
    [
        ({"mode": "zero_shot"}, True),
        ({"mode": "cross_lingual"}, True),
        ({"mode": "instruct", "instruct_text": "x"}, True),
        ({"mode": "sft", "version": 1, "speakers": ["中文女"]}, False),
        ({"mode": "instruct", "instruct_text": "x", "version": 1, "speakers": ["中文女"]}, False),
    ],
)
def test_the_engine_tells_whether_its_servers_can(
    options: dict[str, object], able: bool, tmp_path: Path
) -> None:
    with (
        closing(CosyVoiceFastApi()) as web,
        engine(CosyVoiceHttp, tmp_path, web.url, **options) as made,
    ):
        assert (Ability.CLONING in made.info.abilities) is able
        if able:
            assert speak(made, own())
            assert "prompt_wav" in web.asked[-1].files
        else:
            with pytest.raises(UnknownVoice, match="own voices alone"):
                speak(made, own())
