"""A stand-in for the package `piper-tts` 1.8 with its interface and its faults.

It finds a phoneme for each Latin letter and digit, and the network is a real session of ONNX
Runtime. Like the package it speaks sentence by sentence, passes over what it does not know in
silence, takes `[[...]]` for phonemes, fails at a NUL, makes each sentence as loud as it can be
unless told otherwise, and looks for g2pW in the working directory and then on the network.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

SYMBOLS = "_^$ !',-.:;?()abcdefghijklmnopqrstuvwxyz0123456789"
ID_MAP = {symbol: [place] for place, symbol in enumerate(SYMBOLS)}
_BLOCK = re.compile(r"(\[\[.*?\]\])")


class PhonemeType(StrEnum):
    ESPEAK = "espeak"
    TEXT = "text"
    PINYIN = "pinyin"
    JAPANESE = "japanese"


@dataclass
class PiperConfig:
    num_symbols: int
    num_speakers: int
    sample_rate: int
    espeak_voice: str
    phoneme_id_map: Mapping[str, Sequence[int]]
    phoneme_type: PhonemeType
    speaker_id_map: Mapping[str, int] = field(default_factory=dict)
    length_scale: float = 1.0
    noise_scale: float = 0.667
    noise_w_scale: float = 0.8

    @staticmethod
    def from_dict(config: dict[str, Any]) -> "PiperConfig":
        inference = config.get("inference", {})
        return PiperConfig(
            num_symbols=config["num_symbols"],
            num_speakers=config["num_speakers"],
            sample_rate=config["audio"]["sample_rate"],
            espeak_voice=config["espeak"]["voice"],
            phoneme_id_map=config["phoneme_id_map"],
            phoneme_type=PhonemeType(config.get("phoneme_type", "espeak")),
            speaker_id_map=config.get("speaker_id_map", {}),
            length_scale=inference.get("length_scale", 1.0),
            noise_scale=inference.get("noise_scale", 0.667),
            noise_w_scale=inference.get("noise_w", 0.8),
        )


@dataclass
class SynthesisConfig:
    speaker_id: int | None = None
    length_scale: float | None = None
    noise_scale: float | None = None
    noise_w_scale: float | None = None
    normalize_audio: bool = True
    volume: float = 1.0


@dataclass
class AudioChunk:
    sample_rate: int
    sample_width: int
    sample_channels: int
    audio_float_array: NDArray[np.float32]


@dataclass
class PiperVoice:
    session: onnxruntime.InferenceSession
    config: PiperConfig
    espeak_data_dir: Path = Path()
    download_dir: Path = field(default_factory=Path.cwd)

    def phonemize(self, text: str) -> list[list[str]]:
        self._reach_for_what_is_missing()
        if "\0" in text:
            raise ValueError("embedded null character")
        sentences: list[list[str]] = [[]]
        for place, part in enumerate(_BLOCK.split(text)):
            if place % 2:
                sentences[-1].extend(part[2:-2].strip())
                continue
            for char in unicodedata.normalize("NFKD", part).lower():
                if char.isascii() and (char.isalnum() or char in " !',-.:;?"):
                    sentences[-1].append(char)
                    if char in ".!?":
                        sentences.append([])
        return [sentence for sentence in sentences if any(map(str.strip, sentence))]

    def _reach_for_what_is_missing(self) -> None:
        kind = self.config.phoneme_type
        if kind == PhonemeType.PINYIN and not (self.download_dir / "g2pW").is_dir():
            raise OSError("no network")
        if kind == PhonemeType.JAPANESE:
            raise ImportError("pyopenjtalk")

    def phonemes_to_ids(self, phonemes: list[str]) -> list[int]:
        known = self.config.phoneme_id_map
        ids = [*known["^"], *known["_"]]
        for phoneme in phonemes:
            if phoneme in known:
                ids += [*known[phoneme], *known["_"]]
        return [*ids, *known["$"]]

    def phoneme_ids_to_audio(
        self, phoneme_ids: list[int], syn_config: SynthesisConfig | None = None
    ) -> NDArray[np.float32]:
        told = syn_config or SynthesisConfig()
        own = self.config
        scales = (
            own.noise_scale if told.noise_scale is None else told.noise_scale,
            own.length_scale if told.length_scale is None else told.length_scale,
            own.noise_w_scale if told.noise_w_scale is None else told.noise_w_scale,
        )
        ids = np.array([phoneme_ids], dtype=np.int64)
        inputs = {
            "input": ids,
            "input_lengths": np.array([ids.shape[1]], dtype=np.int64),
            "scales": np.array(scales, dtype=np.float32),
        }
        audio: NDArray[np.float32] = self.session.run(None, inputs)[0].squeeze()
        return audio

    def synthesize(
        self, text: str, syn_config: SynthesisConfig | None = None
    ) -> Iterator[AudioChunk]:
        told = syn_config or SynthesisConfig()
        for phonemes in self.phonemize(text):
            audio = self.phoneme_ids_to_audio(self.phonemes_to_ids(phonemes), told)
            if told.normalize_audio:
                audio = audio / np.max(np.abs(audio))
            yield AudioChunk(self.config.sample_rate, 2, 1, np.clip(audio * told.volume, -1, 1))
