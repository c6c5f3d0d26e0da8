"""A stand-in for the package `faster-whisper` 1.2 with its interface and its faults.

It writes a word for each 0.4 s that is loud, by the samples alone. Like the package it decodes on
iteration, decodes what lies behind the last word again and makes something up there, tries other
temperatures at random, gets into loops, takes no notice of a language it does not know, cuts off
hotwords, and downloads what it does not find.
"""

import hashlib
import json
import logging
import random
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from numpy.typing import NDArray

RATE_HZ = 16_000
SLICE = 6_400
LOUD = 0.003
WORDS = ("rain", "river", "42", "lantern", "meadow", "hollow", "window", "garden")
FIGURE = 100 + WORDS.index("42")
MOST_PROMPT_TOKENS = 223

downloads: list[str] = []
made: list["WhisperModel"] = []


@dataclass
class Word:
    start: float
    end: float
    word: str
    probability: float


@dataclass
class Segment:
    id: int
    seek: int
    start: float
    end: float
    text: str
    tokens: list[int]
    avg_logprob: float
    compression_ratio: float
    no_speech_prob: float
    words: list[Word] | None
    temperature: float | None


@dataclass
class TranscriptionInfo:
    language: str
    language_probability: float


class Tokenizer:
    """One token for each word; the vocabulary has special ones."""

    def encode(self, text: str, *, add_special_tokens: bool = True) -> SimpleNamespace:
        return SimpleNamespace(ids=[1] * (len(text.split()) + 2 * add_special_tokens))

    def get_vocab(self) -> dict[str, int]:
        words = {f"Ġ{word}": 100 + at for at, word in enumerate(WORDS)}
        return {**words, "<|0.42|>": 50_363, "<|en|>": 50_259}


class WhisperModel:
    """A model; what `config.json` says of `multilingual` and `loops` comes true."""

    def __init__(
        self,
        model_size_or_path: str,
        device: str = "auto",
        device_index: int = 0,
        compute_type: str = "default",
        cpu_threads: int = 0,
        num_workers: int = 1,
        *,
        local_files_only: bool = False,
    ) -> None:
        folder = Path(model_size_or_path)
        if not folder.is_dir():
            if local_files_only:
                raise FileNotFoundError(f"no snapshot of {model_size_or_path} on the disk")
            downloads.append(model_size_or_path)
        elif not (folder / "tokenizer.json").is_file():
            downloads.append("openai/whisper-tiny")
        if compute_type == "float16" and device != "cuda":
            raise ValueError("Requested float16 compute type, but the device has none")
        file = folder / "config.json"
        config = json.loads(file.read_text()) if file.is_file() else {}
        self.loops: str = config.get("loops", "")
        self.cpu_threads = cpu_threads
        self.model = SimpleNamespace(
            is_multilingual=config.get("multilingual", True),
            device="cpu" if device == "auto" else device,
        )
        self.hf_tokenizer = Tokenizer()
        self.asked: list[dict[str, object]] = []
        self._lock = threading.Lock()
        made.append(self)

    @property
    def supported_languages(self) -> list[str]:
        return ["en", "jw", "zh"] if self.model.is_multilingual else ["en"]

    def transcribe(
        self,
        audio: NDArray[np.float32],
        language: str | None = None,
        beam_size: int = 5,
        repetition_penalty: float = 1,
        no_repeat_ngram_size: int = 0,
        temperature: float | Sequence[float] = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0),
        *,
        condition_on_previous_text: bool = True,
        suppress_tokens: Sequence[int] = (-1,),
        without_timestamps: bool = False,
        word_timestamps: bool = False,
        max_new_tokens: int | None = None,
        hotwords: str | None = None,
    ) -> tuple[Iterator[Segment], TranscriptionInfo]:
        with self._lock:
            self.asked.append({"language": language, "beam_size": beam_size, "words": len(audio)})
        logging.getLogger("faster_whisper").info("Processing audio with duration %s", len(audio))
        prompt = min(len((hotwords or "").split()), MOST_PROMPT_TOKENS) + 4
        if max_new_tokens is not None and prompt + max_new_tokens > 448:
            raise ValueError("the prompt and max_new_tokens exceed max_length")
        if not self.model.is_multilingual:
            language = "en"  # whatever was asked
        found = language or "en"
        decoding = _Decoding(
            audio,
            loops=self.loops == "always" or (self.loops == "once" and not no_repeat_ngram_size),
            figures=FIGURE not in suppress_tokens,
            hotword=hotwords.split(",")[0] if hotwords else None,
            random=not isinstance(temperature, float | int),
            words=word_timestamps,
        )
        return decoding.segments(), TranscriptionInfo(found, 1.0 if language else 0.9)


@dataclass
class _Decoding:
    audio: NDArray[np.float32]
    loops: bool
    figures: bool
    hotword: str | None
    random: bool
    words: bool

    def segments(self) -> Iterator[Segment]:
        words = list(self._heard())
        if not words:
            return  # no_speech_threshold
        if self.random:
            words.append(Word(0.0, 0.1, f" {random.random()}", 0.1))
        yield self._segment(0, words)
        end = len(self.audio) / RATE_HZ
        if self.words and words[-1].end < end:
            made_up = [Word(words[-1].end, end, " Thanks for watching!", 0.9)]
            yield self._segment(round(words[-1].end * 100), made_up)

    def _heard(self) -> Iterator[Word]:
        for start in range(0, len(self.audio), SLICE):
            part = self.audio[start : start + SLICE]
            if np.sqrt(np.mean(np.square(part))) < LOUD:
                continue
            digest = hashlib.blake2b(part.tobytes(), digest_size=2).digest()
            word = WORDS[digest[0] % len(WORDS)]
            if word == "42" and not self.figures:
                word = "forty-two"
            # Whisper's times are rounded, and may lie beyond the audio.
            yield Word(start / RATE_HZ, (start + SLICE) / RATE_HZ, f" {word}", 0.9)

    def _segment(self, seek: int, words: list[Word]) -> Segment:
        text = "".join(word.word for word in words)
        if self.hotword and seek == 0:
            text = f" {self.hotword}{text}"
        if self.loops:
            text = " and then" * 60
        return Segment(
            id=1,
            seek=seek,
            start=words[0].start,
            end=words[-1].end,
            text=text,
            tokens=[1] * len(words),
            avg_logprob=-0.1,
            compression_ratio=12.0 if self.loops else 1.0,
            no_speech_prob=0.01,
            words=words if self.words else None,
            temperature=0.0,
        )
