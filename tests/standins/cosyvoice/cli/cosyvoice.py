"""The classes that a user of CosyVoice meets, with the faults of the real ones.

- Flags are forced to False without a graphics card, in silence.
- Versions 2 and 3 come without speakers.
- What is kept of a prompt is changed by a request that uses it: the second one fails.
- With a prompt that is kept, `inference_instruct2` does not look at the instruction.
- What is to be said is logged.
"""

import logging
import wave
from collections.abc import Generator, Iterator
from pathlib import Path

from tests.standins.cosyvoice.cli.model import (
    CosyVoice2Model,
    CosyVoice3Model,
    CosyVoiceModel,
    Text,
)
from tests.standins.cosyvoice.sound import Tensor

CUDA = False
"""Whether torch would find a graphics card."""

SPLIT_CHARACTERS = 60
LONGEST_PROMPT = 30
LEAST_PROMPT_HZ = 16_000

Output = dict[str, Tensor]


class FrontEnd:
    """Keeps what is known of speakers."""

    def __init__(self, spk2info: dict[str, dict[str, str]]) -> None:
        self.spk2info = spk2info


class CosyVoice:
    """Version 1, with speakers of its own."""

    sample_rate = 22_050
    speakers: tuple[str, ...] = ("中文女", "英文男")
    model_class: type[CosyVoiceModel] = CosyVoiceModel

    def __init__(
        self,
        model_dir: str,
        load_jit: bool = False,
        load_trt: bool = False,
        fp16: bool = False,
        trt_concurrent: int = 1,
    ) -> None:
        self._start(model_dir, load_jit=load_jit, load_trt=load_trt, fp16=fp16)

    def _start(self, model_dir: str, **flags: bool) -> None:
        self.model_dir = model_dir
        self.flags = {name: given and CUDA for name, given in flags.items()}
        self.vllm = flags.get("load_vllm", False)
        parallel = self.vllm or self.flags.get("load_trt", False)
        self.model = self.model_class(self.sample_rate, parallel=parallel)
        self.frontend = FrontEnd({name: {"prompt": "", "speech": ""} for name in self.speakers})
        self.prompts_read: list[str] = []
        self.asked: list[dict[str, object]] = []

    def list_available_spks(self) -> list[str]:
        return list(self.frontend.spk2info)

    def add_zero_shot_spk(self, prompt_text: str, prompt_wav: str, zero_shot_spk_id: str) -> bool:
        self._read_prompt(prompt_wav)
        self.frontend.spk2info[zero_shot_spk_id] = {"prompt": prompt_text, "speech": prompt_wav}
        return True

    def inference_sft(
        self,
        tts_text: Text,
        spk_id: str,
        stream: bool = False,
        speed: float = 1.0,
        text_frontend: bool = True,
    ) -> Iterator[Output]:
        prompt = self.frontend.spk2info[spk_id]["prompt"]
        yield from self._infer(tts_text, prompt, stream, speed, text_frontend)

    def inference_zero_shot(
        self,
        tts_text: Text,
        prompt_text: str,
        prompt_wav: str,
        zero_shot_spk_id: str = "",
        stream: bool = False,
        speed: float = 1.0,
        text_frontend: bool = True,
    ) -> Iterator[Output]:
        known = self._prompt(prompt_text, prompt_wav, zero_shot_spk_id)
        yield from self._infer(tts_text, known["prompt"], stream, speed, text_frontend)

    def inference_cross_lingual(
        self,
        tts_text: Text,
        prompt_wav: str,
        zero_shot_spk_id: str = "",
        stream: bool = False,
        speed: float = 1.0,
        text_frontend: bool = True,
    ) -> Iterator[Output]:
        known = self._prompt("", prompt_wav, zero_shot_spk_id)
        del known["prompt"]
        yield from self._infer(tts_text, "", stream, speed, text_frontend)

    def inference_instruct(
        self,
        tts_text: Text,
        spk_id: str,
        instruct_text: str,
        stream: bool = False,
        speed: float = 1.0,
        text_frontend: bool = True,
    ) -> Iterator[Output]:
        assert type(self) is CosyVoice, "inference_instruct is only implemented for CosyVoice"
        assert self.frontend.spk2info[spk_id]
        yield from self._infer(tts_text, instruct_text, stream, speed, text_frontend)

    def _infer(
        self, text: Text, prompt: str, stream: bool, speed: float, text_frontend: bool
    ) -> Iterator[Output]:
        self.asked.append({"text": text, "prompt": prompt, "stream": stream, "speed": speed})
        if isinstance(text, Generator) and self.vllm:
            raise AssertionError("streaming input text does not support vllm")
        pieces = [text] if isinstance(text, Generator) else _split(text, text_frontend)
        for piece in pieces:
            logging.info("synthesis text %s", piece)
            for speech in self.model.tts(piece, prompt, stream=stream, speed=speed):
                yield {"tts_speech": speech}

    def _prompt(self, text: str, path: str, known: str) -> dict[str, str]:
        if known:
            return self.frontend.spk2info[known]
        self._read_prompt(path)
        return {"prompt": text, "speech": path}

    def _read_prompt(self, path: str) -> None:
        """Open the file three times, for the three things that are made of it."""
        if not isinstance(path, str | Path):
            raise TypeError(f"Invalid file: {path!r}")
        for _ in range(3):
            with wave.open(str(path)) as file:
                rate = file.getframerate()
                assert rate >= LEAST_PROMPT_HZ, f"prompt wav sample rate {rate} is too low"
                assert file.getnframes() <= LONGEST_PROMPT * rate, "prompt longer than 30 s"
            self.prompts_read.append(str(path))


class CosyVoice2(CosyVoice):
    """Version 2: speakers from prompts only."""

    sample_rate = 24_000
    speakers = ()
    model_class = CosyVoice2Model

    def __init__(
        self,
        model_dir: str,
        load_jit: bool = False,
        load_trt: bool = False,
        load_vllm: bool = False,
        fp16: bool = False,
        trt_concurrent: int = 1,
    ) -> None:
        flags = {"load_jit": load_jit, "load_trt": load_trt, "fp16": fp16, "load_vllm": load_vllm}
        self._start(model_dir, **flags)

    def inference_instruct2(
        self,
        tts_text: Text,
        instruct_text: str,
        prompt_wav: str,
        zero_shot_spk_id: str = "",
        stream: bool = False,
        speed: float = 1.0,
        text_frontend: bool = True,
    ) -> Iterator[Output]:
        known = self._prompt(instruct_text, prompt_wav, zero_shot_spk_id)
        del known["speech"]
        yield from self._infer(tts_text, known["prompt"], stream, speed, text_frontend)


class CosyVoice3(CosyVoice2):
    """Version 3: no `load_jit`."""

    model_class = CosyVoice3Model

    def __init__(
        self,
        model_dir: str,
        load_trt: bool = False,
        load_vllm: bool = False,
        fp16: bool = False,
        trt_concurrent: int = 1,
    ) -> None:
        self._start(model_dir, load_trt=load_trt, fp16=fp16, load_vllm=load_vllm)


def AutoModel(*, model_dir: str, **flags: bool) -> CosyVoice:  # noqa: N802  as the real one
    """The class that the model directory is for."""
    kinds: dict[str, type[CosyVoice]] = {
        "cosyvoice.yaml": CosyVoice,
        "cosyvoice2.yaml": CosyVoice2,
        "cosyvoice3.yaml": CosyVoice3,
    }
    if not Path(model_dir).is_dir():
        raise ConnectionError(f"{model_dir} would be downloaded from ModelScope")
    for name, kind in kinds.items():
        if Path(model_dir, name).is_file():
            return kind(model_dir, **flags)
    raise TypeError("No valid model type found!")


def _split(text: str, text_frontend: bool) -> list[str]:
    if not text_frontend or ("<|" in text and "|>" in text):
        return [text]
    return [text[i : i + SPLIT_CHARACTERS] for i in range(0, len(text), SPLIT_CHARACTERS)]
