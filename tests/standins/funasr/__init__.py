"""A stand-in for the package `funasr` 1.2 with its interface and its faults.

A model's `config.yaml` says what it is. It writes a character for each 0.3 s that is loud, by the
samples alone. Like the package it prints, sets up logging for all, downloads what it does not find,
installs what a model names, goes on with random weights, keeps the options of a call for the next,
hears the end of another stream in an unfinished one's cache, and fails on a few frames.
"""

import hashlib
import logging
import random
import re
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

RATE_HZ = 16_000
SLICE = 4_800
LOUD = 0.003
CHARACTERS = "天地玄黄宇宙洪荒日月盈昃"
HUB = {"paraformer", "paraformer-zh-streaming", "SenseVoiceSmall", "ct-punc", "fsmn-vad"}

downloads: list[str] = []
installed: list[str] = []
updates: list[str] = []
made: list["AutoModel"] = []


class AutoModel:
    """A model; options of calls stay in `kwargs`."""

    def __init__(
        self,
        *,
        model: str,
        device: str = "cuda",
        ncpu: int = 4,
        disable_update: bool = False,
        disable_pbar: bool = False,
        disable_log: bool = True,
    ) -> None:
        if not disable_update:
            updates.append(model)
        logging.basicConfig(level=logging.INFO, force=True)
        sys.stdout.write(f"funasr: a table of models, {disable_log}\n")
        folder = Path(model)
        if model in HUB or not folder.is_dir():
            downloads.append(model)
        if (folder / "requirements.txt").exists():
            installed.append(model)
        config = (folder / "config.yaml").read_text(encoding="utf-8")
        found = re.search(r"^model: (\w+)", config, re.MULTILINE)
        self.kind = found[1] if found else ""
        if "broken" in config:
            raise AssertionError(f"{self.kind} is not registered")
        self.random = not (folder / "model.pt").exists()
        self.answers_nonsense = "nonsense" in config
        self.kwargs: dict[str, Any] = {"device": device, "ncpu": ncpu, "disable_pbar": disable_pbar}
        self.bars = 0
        self.asked: list[dict[str, Any]] = []
        self._busy = threading.Lock()
        made.append(self)

    def generate(self, input: Any, **cfg: Any) -> list[dict[str, Any]]:  # noqa: A002  (its name)
        if not self._busy.acquire(blocking=False):
            return [{"key": "rand_key", "text": "乱"}]  # two calls at once share `kwargs`
        try:
            self.bars += not self.kwargs["disable_pbar"]
            kept = self.kwargs.get("cache")
            self.kwargs.update(cfg)
            if kept:  # merged into the one that is there
                self.kwargs["cache"] = kept
            self.asked.append({name: value for name, value in cfg.items() if name != "cache"})
            if self.answers_nonsense:
                return [{"key": "rand_key", "value": []}]
            return self._answer(input)
        finally:
            self._busy.release()

    def _answer(self, content: Any) -> list[dict[str, Any]]:
        if self.kind == "CTTransformer":
            return [{"key": "rand_key", "text": f"{content}。"}]
        if self.random:
            return [{"key": "rand_key", "text": str(random.random())}]
        if self.kind == "ParaformerStreaming":
            return [{"key": "rand_key", "text": "".join(self._stream(content))}]
        if len(content) < 960:
            raise ZeroDivisionError("float division by zero")
        heard = characters(content)
        if self.kind == "SenseVoiceSmall":
            return [{"key": "rand_key", "text": self._tagged(heard)}]
        text = [self.kwargs["hotword"]] if self.kwargs.get("hotword") else []
        times = [[at * 300, at * 300 + 300] for at in range(len(text) + len(heard))]
        return [{"key": "rand_key", "text": " ".join([*text, *heard]), "timestamp": times}]

    def _tagged(self, heard: list[str]) -> str:
        itn = self.kwargs.get("use_itn", False)
        language = self.kwargs.get("language", "auto")
        if not heard:
            return "<|nospeech|><|EMO_UNKNOWN|><|Event_UNK|><|woitn|>。"
        tags = f"<|{'zh' if language == 'auto' else language}|><|NEUTRAL|><|Speech|>"
        if not itn:
            return f"{tags}<|woitn|>{''.join(heard)}"
        return f"{tags}<|withitn|>{''.join(heard).replace('日', '1')}。"

    def _stream(self, audio: NDArray[np.float32]) -> list[str]:
        cache, last = self.kwargs["cache"], self.kwargs.get("is_final", False)
        stride = self.kwargs["chunk_size"][1] * 960
        audio = np.concatenate((cache.get("prev_samples", np.zeros(0, np.float32)), audio))
        if last and len(audio) < 400:
            raise ValueError("not enough values to unpack (expected 3, got 1)")
        whole = len(audio) if last else len(audio) // stride * stride
        cache["prev_samples"] = audio[whole:]
        # What is decoded at the end of a stride comes with the next: the look-ahead.
        heard: list[str] = cache.pop("late", []) + characters(audio[:whole])
        if not last:
            cache["late"] = heard[-1:]
            return heard[:-1]
        cache.clear()
        return heard


def characters(audio: NDArray[np.float32]) -> list[str]:
    """What is written of audio."""
    found = []
    for start in range(0, len(audio), SLICE):
        part = audio[start : start + SLICE]
        if np.sqrt(np.mean(np.square(part))) >= LOUD:
            digest = hashlib.blake2b(part.tobytes(), digest_size=2).digest()
            found.append(CHARACTERS[digest[0] % len(CHARACTERS)])
    return found
