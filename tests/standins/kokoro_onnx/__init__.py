"""A stand-in for the package `kokoro-onnx` 0.6 with its interface and its faults.

It finds a phoneme for each Latin letter and digit, and the network is a real session of ONNX
Runtime. Like the package it makes all of a text before any of it is heard, reads its voices from
one open file, leaves the flags of foreign words among the phonemes, cuts a text at a NUL, passes
over what it does not know, and fails with a ValueError where nothing is left.
"""

import unicodedata
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

SAMPLE_RATE = 24_000
VOCAB = {char: place for place, char in enumerate(" $;:,.!?()abcdefghijklmnopqrstuvwxyz0123456789")}
DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
SPOKEN = {"en-us", "en-gb", "fr-fr", "es"}


class Tokenizer:
    vocab = VOCAB

    def phonemize(self, text: str, lang: str = "en-us", norm: bool = True) -> str:
        if lang not in SPOKEN:
            raise RuntimeError(f'language "{lang}" is not supported by the espeak backend')
        text = text.strip().partition("\0")[0]
        for place, word in enumerate(DIGITS):
            text = text.replace(str(place), f"{word} ")
        if lang == "fr-fr":
            text = text.replace("computer", "(en)computer(fr)")
        plain = unicodedata.normalize("NFKD", text).lower()
        return self.known("".join(char for char in plain if char.isascii())).strip()

    def known(self, phonemes: str) -> str:
        return "".join(char for char in phonemes if char in VOCAB)

    def tokenize(self, phonemes: str) -> list[int]:
        if len(phonemes) > 510:
            raise ValueError("text is too long, must be less than 510 phonemes")
        return [VOCAB[char] for char in phonemes if char in VOCAB]


class Kokoro:
    def __init__(self, model_path: str, voices_path: str) -> None:
        self._begin(onnxruntime.InferenceSession(model_path), voices_path)

    @classmethod
    def from_session(cls, session: onnxruntime.InferenceSession, voices_path: str) -> "Kokoro":
        instance = cls.__new__(cls)
        instance._begin(session, voices_path)  # noqa: SLF001  (its own)
        return instance

    def _begin(self, session: onnxruntime.InferenceSession, voices_path: str) -> None:
        self.sess = session
        self.voices: Any = np.load(voices_path)
        self.tokenizer = Tokenizer()

    def create(
        self,
        text: str,
        voice: str | NDArray[np.float32],
        speed: float = 1.0,
        lang: str = "en-us",
        is_phonemes: bool = False,
        trim: bool = True,
    ) -> tuple[NDArray[np.float32], int]:
        if not 0.5 <= speed <= 2.0:
            raise ValueError(f"Speed should be between 0.5 and 2.0, got {speed}")
        style = self.voices[voice] if isinstance(voice, str) else voice
        tokens = self.tokenizer.tokenize(
            text if is_phonemes else self.tokenizer.phonemize(text, lang)
        )
        if not tokens:
            raise ValueError(f"Nothing to synthesize, {text!r} produced no phonemes")
        inputs = {
            "tokens": np.array([[0, *tokens, 0]], dtype=np.int64),
            "style": style[min(len(tokens), len(style)) - 1],
            "speed": np.array([speed], dtype=np.float32),
        }
        audio: NDArray[np.float32] = self.sess.run(None, inputs)[0]
        loud = np.flatnonzero(np.abs(audio) > 0.01)
        return (audio[loud[0] : loud[-1] + 1] if trim and len(loud) else audio), SAMPLE_RATE
