"""What an operator may set of the engine `cosyvoice`."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

import msgspec

from legato.errors import EngineUnavailable

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]


class Mode(StrEnum):
    """Which of CosyVoice's inference methods speaks."""

    SFT = "sft"
    ZERO_SHOT = "zero_shot"
    CROSS_LINGUAL = "cross_lingual"
    INSTRUCT = "instruct"


class Prompt(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A recording whose voice speaks.

    Attributes:
        name: By which a client asks for the voice.
        wav: Path of the recording, at least 16 kHz and at most 30 s long.
        text: What is said in it, word for word; only `zero_shot` needs it.
        languages: BCP 47 tags that the voice speaks well; none are those of the model.
        gender: "female", "male" or nothing.
    """

    name: Name
    wav: str
    text: str = ""
    languages: tuple[str, ...] = ()
    gender: str | None = None


class Config(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options of the engine.

    Attributes:
        model_dir: Folder with `cosyvoice.yaml`, `cosyvoice2.yaml` or `cosyvoice3.yaml`.
        source_dir: Checkout of CosyVoice, if it is not on the path already.
        mode: `sft`, `zero_shot`, `cross_lingual` or `instruct`.
        prompts: Voices for all modes but `sft`, and `instruct` of version 1; the first is the
            default.
        voice: Default speaker of `sft` and of version 1's `instruct`; unset, the first there is.
        instruct_text: How to speak, in mode `instruct`.
        models: Copies of the model in one process; each serves one stream at a time.
        parallel: Streams that one model serves at once; more than 1 only with `vllm` or `trt`.
        chunk_tokens: Speech tokens (40 ms each) of a stream's first chunk; later ones grow. For
            versions 2 and 3.
        streaming: Whether audio comes in chunks while a text is spoken. If not, each text is
            spoken whole.
        text_streaming: Whether text is handed to the model word by word as it comes, in versions 2
            and 3 without `vllm`. The model then normalises no text: numbers are read as they may.
        jit: Load the compiled modules of versions 1 and 2; needs CUDA.
        trt: Use TensorRT; needs CUDA.
        vllm: Use vLLM, in versions 2 and 3; needs CUDA.
        fp16: Compute in half precision; needs CUDA.
        levelling: Whether a first chunk that is louder or quieter than the voice goes on to be is
            corrected.
        control_tokens: Whether clients may write control tokens such as `<|endofprompt|>`.
        progress_timeout: Seconds without a new token or sample until a stream is given up.
        warm_up: Text that each voice says while the engine loads.
    """

    model_dir: str = ""
    source_dir: str = ""
    mode: Mode = Mode.ZERO_SHOT
    prompts: tuple[Prompt, ...] = ()
    voice: str | None = None
    instruct_text: str = ""
    models: Annotated[int, msgspec.Meta(ge=1, le=64)] = 1
    parallel: Annotated[int, msgspec.Meta(ge=1, le=64)] = 1
    chunk_tokens: Annotated[int, msgspec.Meta(ge=5, le=200)] = 25
    streaming: bool = True
    text_streaming: bool = False
    jit: bool = False
    trt: bool = False
    vllm: bool = False
    fp16: bool = False
    levelling: bool = True
    control_tokens: bool = False
    progress_timeout: Annotated[float, msgspec.Meta(gt=0, le=600)] = 30.0
    warm_up: Annotated[str, msgspec.Meta(max_length=200)] = (
        "你好，很高兴认识你，今天的天气真不错。Good morning, it is nice to meet you."
    )


def configured(options: Mapping[str, object]) -> Config:
    """Return the options that a settings file gives.

    Raises:
        EngineUnavailable: If one is unknown or wrong; names it.
    """
    try:
        config = msgspec.convert(dict(options), Config)
    except msgspec.ValidationError as error:
        raise EngineUnavailable(f"cosyvoice: {error}; see docs/cosyvoice.md") from error
    if config.parallel > 1 and not (config.vllm or config.trt):
        raise EngineUnavailable(
            "cosyvoice: parallel > 1 needs vllm or trt: without them two streams on one model"
            " spoil each other. Raise models instead, each of which holds its weights"
        )
    if config.mode is Mode.INSTRUCT and not config.instruct_text.strip():
        raise EngineUnavailable("cosyvoice: mode instruct needs instruct_text: how to speak")
    names = [prompt.name for prompt in config.prompts]
    if len(set(names)) < len(names):
        raise EngineUnavailable("cosyvoice: two prompts have the same name; give each its own")
    return config
