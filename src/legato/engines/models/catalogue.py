"""Models that are known by a short name: where they are, and which of their files are needed.

Repositories are those that the projects' own pages name. None was fetched when this was written, as
no hub could be reached: `verified` says so. Sizes are left out where they are not known; the hub
tells them before anything is fetched.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from legato.engines.models.faults import BadModelName, HubBroken
from legato.engines.models.names import Hub, ModelName, parse
from legato.engines.models.records import FileRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownModel:
    """A model with a short name.

    Attributes:
        name: For the command line.
        about: In one sentence.
        engine: That uses it.
        sources: Where it is published, the first by default.
        needed: Patterns of files without which it does not work; each must match.
        left_out: Patterns of files that are not fetched unless all are asked for.
        licence: As its page says; the hub's word is kept with what is pulled.
        size_bytes: Of what is fetched, where known.
        verified: Whether it was pulled and used with this version.
    """

    name: str
    about: str
    engine: str
    sources: tuple[ModelName, ...]
    needed: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    licence: str = ""
    size_bytes: int | None = None
    verified: bool = False


def _both(modelscope: str, huggingface: str) -> tuple[ModelName, ...]:
    return parse(f"{Hub.MODELSCOPE}:{modelscope}"), parse(f"{Hub.HUGGINGFACE}:{huggingface}")


def _cosyvoice(number: int, name: str, repository: str, about: str) -> KnownModel:
    """Return a model of CosyVoice; the files are those that its loader opens."""
    yaml = f"cosyvoice{number if number > 1 else ''}.yaml"
    weights = ("llm.pt", "flow.pt", "hift.pt", "campplus.onnx", f"speech_tokenizer_v{number}*.onnx")
    owner = "FunAudioLLM" if number == 3 else "iic"
    return KnownModel(
        name=name,
        about=about,
        engine="cosyvoice",
        sources=_both(f"{owner}/{repository}", f"FunAudioLLM/{repository}"),
        needed=(yaml, *weights, *(("CosyVoice-BlankEN/*",) if number > 1 else ())),
        left_out=("*.zip", "asset/*", "*.png", "*.gif", ".gitattributes", ".msc", ".mv"),
        licence="Apache-2.0",
    )


KNOWN: Final = (
    _cosyvoice(
        3, "cosyvoice3", "Fun-CosyVoice3-0.5B-2512", "CosyVoice 3, voices from a recording."
    ),
    _cosyvoice(2, "cosyvoice2", "CosyVoice2-0.5B", "CosyVoice 2, voices from a recording."),
    _cosyvoice(1, "cosyvoice1", "CosyVoice-300M", "CosyVoice 1, voices from a recording."),
    _cosyvoice(1, "cosyvoice1-sft", "CosyVoice-300M-SFT", "CosyVoice 1, with speakers of its own."),
    _cosyvoice(
        1, "cosyvoice1-instruct", "CosyVoice-300M-Instruct", "CosyVoice 1, told how to speak."
    ),
    KnownModel(
        name="zipformer-zh-en",
        about="Streaming recognition of Chinese and English (zipformer).",
        engine="sherpa-onnx",
        sources=(
            parse(
                "huggingface:csukuangfj/sherpa-onnx-streaming-zipformer-bilingual-zh-en-2023-02-20"
            ),
        ),
        needed=("encoder*.onnx", "decoder*.onnx", "joiner*.onnx", "tokens.txt"),
        left_out=("test_wavs/*", "*.zip", ".gitattributes"),
        licence="Apache-2.0",
    ),
    KnownModel(
        name="sense-voice",
        about="Recognition of Chinese, English, Japanese, Korean and Cantonese (SenseVoice).",
        engine="sherpa-onnx",
        sources=(
            parse("huggingface:csukuangfj/sherpa-onnx-sense-voice-zh-en-ja-ko-yue-2024-07-17"),
        ),
        needed=("model*.onnx", "tokens.txt"),
        left_out=("test_wavs/*", "*.zip", ".gitattributes"),
    ),
    *(
        KnownModel(
            name=f"whisper-{size}",
            about=f"Whisper {size} for faster-whisper: recognition of many languages.",
            engine="faster-whisper",
            sources=(parse(f"huggingface:Systran/faster-whisper-{size}"),),
            needed=("model.bin", "config.json", "tokenizer.json"),
            left_out=(".gitattributes",),
            licence="MIT",
        )
        for size in ("tiny", "base", "small")
    ),
)
"""In the order in which they are listed."""


def resolve(text: str, hub: Hub | None = None) -> tuple[ModelName, KnownModel | None]:
    """Return the model that is meant by a short name or by `hub:owner/name`.

    Args:
        text: What was typed.
        hub: Which of its hubs, for a short name.

    Raises:
        BadModelName: If it means none, or is not on that hub.
    """
    if ":" in text:
        name = parse(text)
        sources = {source.plain: known for known in KNOWN for source in known.sources}
        return name, sources.get(name.plain)
    known = next((one for one in KNOWN if one.name == text), None)
    if known is None:
        close = difflib.get_close_matches(text, [one.name for one in KNOWN], n=1)
        hint = f"did you mean {close[0]}? " if close else ""
        raise BadModelName(
            f"no model is called {text!r}; {hint}`legato models list --known` names those that have"
            " a short name, any other is hub:owner/name"
        )
    for source in known.sources:
        if hub in {None, source.hub}:
            return source, known
    raise BadModelName(f"{text} is not known to be on {hub}; name it as {hub}:owner/name")


def wanted(files: Sequence[FileRecord], known: KnownModel | None) -> tuple[FileRecord, ...]:
    """Return the files to be fetched, without those that are of no use.

    Raises:
        HubBroken: If one that is needed is not there: the model has changed.
    """
    if known is None:
        return tuple(files)
    for pattern in known.needed:
        if not any(fnmatchcase(file.path, pattern) for file in files):
            raise HubBroken(
                f"the hub lists no {pattern} for {known.name}, which {known.engine} needs; it may"
                " have been changed: name it as hub:owner/name to take it as it is"
            )
    return tuple(
        file
        for file in files
        if any(fnmatchcase(file.path, pattern) for pattern in known.needed)
        or not any(fnmatchcase(file.path, pattern) for pattern in known.left_out)
    )
