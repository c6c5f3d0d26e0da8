"""The Moonshine tiny English network on ONNX Runtime: a stretch of audio in, its text out.

The weights are those that the package `moonshine-voice` 0.1.0 brings (MIT); the package itself is
never imported. Moonshine: Jeffries et al., arXiv 2410.15608.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from legato.engines.installation import package_file
from legato.engines.onnx import Network
from legato.errors import EngineUnavailable

SAMPLE_RATE_HZ: Final = 16_000

_FILES: Final = ("encoder_model.ort", "decoder_model_merged.ort", "tokenizer.bin")
_BOS: Final = 1
_EOS: Final = 2
_LAYERS: Final = 6
_HEADS: Final = 8
_HEAD_WIDTH: Final = 36
_TOKENS_PER_SECOND: Final = 6.5
"""Bound on the text of a second of English (the model's authors); stops endless repetition."""

_SPARE_TOKENS: Final = 6
"""What a short segment may have above that rate."""

_REPEATED: Final = 3
"""Tokens that must come again before a text that found no end is taken for a loop."""

_SHORTEST: Final = 8_000
"""Samples that shorter audio is padded to; the encoder's convolutions need 895."""

_DECODER_CACHE: Final = tuple(
    f"{layer}.decoder.{part}" for layer in range(_LAYERS) for part in ("key", "value")
)
_ENCODER_CACHE: Final = tuple(
    f"{layer}.encoder.{part}" for layer in range(_LAYERS) for part in ("key", "value")
)
_CACHE: Final = _DECODER_CACHE + _ENCODER_CACHE
_SPECIAL: Final = re.compile(r"<<ST_\d+>>|</?s>|<unk>")

FloatArray = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """What the network takes a stretch of audio to say.

    Attributes:
        text: As written, with punctuation; "" where it heard no speech.
        tokens: The text in the network's vocabulary; a draft for a longer stretch.
        confidence: Geometric mean of the tokens' probabilities, 0 to 1; 0 for no text.
    """

    text: str
    tokens: tuple[int, ...]
    confidence: float


def check() -> None:
    """Look for the weights.

    Raises:
        EngineUnavailable: If they are missing; names the line that adds them.
    """
    for file in _FILES:
        _asset(file)


def _asset(file: str) -> Path:
    return package_file("moonshine_voice", "assets", "tiny-en", file, extra="voices")


class MoonshineModel:
    """The network and its vocabulary, loaded once for all streams of a process.

    Args:
        threads: Threads for one decode.

    Raises:
        EngineUnavailable: If weights are missing or not those that are expected.
    """

    def __init__(self, *, threads: int = 1) -> None:
        encoder, decoder, tokenizer = (_asset(file) for file in _FILES)
        self._encoder = Network(encoder, threads=threads)
        self._decoder = Network(decoder, threads=threads)
        self._vocabulary = read_vocabulary(tokenizer.read_bytes())

    def transcribe(self, audio: FloatArray, draft: Sequence[int] = ()) -> Hypothesis:
        """Return the most probable text, token by token.

        A draft saves most of the time: the decoder checks all its tokens in one pass and goes on
        from the first that it would not have chosen. The weights are quantised with scales that
        follow the input, so a pass over many tokens may, rarely, choose other words than one
        over each; without a draft the text depends on `audio` alone.

        Args:
            audio: Samples at 16 kHz, shape [samples], in [-1, 1).
            draft: Tokens that the text probably begins with.
        """
        if len(audio) < _SHORTEST:
            audio = np.pad(audio, (0, _SHORTEST - len(audio)))
        bound = math.ceil(len(audio) / SAMPLE_RATE_HZ * _TOKENS_PER_SECOND) + _SPARE_TOKENS
        decoding = _Decoding(self._decoder, self._encode(audio), len(audio))
        decoding.start(tuple(draft)[:bound])
        while decoding.choice != _EOS and len(decoding.tokens) < bound:
            decoding.step()
        tokens = tuple(decoding.tokens)
        if decoding.choice != _EOS:
            tokens = without_loop(tokens)
        scores = decoding.scores[: len(tokens)]
        confidence = math.exp(sum(scores) / len(tokens)) if tokens else 0.0
        return Hypothesis(self._text(tokens), tokens, min(confidence, 1.0))

    def _encode(self, audio: FloatArray) -> FloatArray:
        batch = audio[np.newaxis]
        mask = np.ones(batch.shape, np.int64)
        (hidden,) = self._encoder.run(
            ("last_hidden_state",), {"input_values": batch, "attention_mask": mask}
        )
        return hidden

    def _text(self, tokens: Sequence[int]) -> str:
        spelt = b"".join(self._vocabulary[token] for token in tokens)
        text = spelt.decode("utf-8", "replace").replace("\u2581", " ")
        return " ".join(_SPECIAL.sub(" ", text).split())


class _Decoding:
    """Greedy decoding of one stretch of audio, with the keys and values of earlier tokens kept."""

    def __init__(self, decoder: Network, hidden: FloatArray, samples: int) -> None:
        self._decoder = decoder
        # The decoder strides this mask inside, so it counts samples, not encoder frames.
        self._fixed: dict[str, NDArray[np.generic]] = {
            "encoder_attention_mask": np.ones((1, samples), np.int64),
            "encoder_hidden_states": hidden,
        }
        empty = np.zeros((1, _HEADS, 0, _HEAD_WIDTH), np.float32)
        self._cache: dict[str, FloatArray] = dict.fromkeys(_CACHE, empty)
        self.tokens: list[int] = []
        self.scores: list[float] = []
        self.choice = _EOS
        self._score = 0.0

    def start(self, draft: tuple[int, ...]) -> None:
        """Take over what the network would have chosen of `draft`, and choose the next token."""
        logits = self._run((_BOS, *draft), _CACHE, cached=False)
        agreed = 0
        while agreed < len(draft) and int(logits[agreed].argmax()) == draft[agreed]:
            self._choose(logits[agreed])
            self._accept()
            agreed += 1
        for name in _DECODER_CACHE:
            self._cache[name] = np.ascontiguousarray(self._cache[name][:, :, : agreed + 1])
        self._choose(logits[agreed])

    def step(self) -> None:
        """Accept the choice and choose the token after it."""
        self._accept()
        # What came from the audio is not computed again, so those outputs are not asked for.
        self._choose(self._run(self.tokens[-1:], _DECODER_CACHE, cached=True)[-1])

    def _accept(self) -> None:
        self.tokens.append(self.choice)
        self.scores.append(self._score)

    def _choose(self, logits: FloatArray) -> None:
        self.choice = int(logits.argmax())
        self._score = -float(np.log(np.exp(logits - logits[self.choice]).sum()))

    def _run(self, tokens: Sequence[int], kept: Sequence[str], *, cached: bool) -> FloatArray:
        """Return the logits after each token, shape [tokens, vocabulary]."""
        inputs: dict[str, NDArray[np.generic]] = {
            **self._fixed,
            "input_ids": np.array([tokens], np.int64),
            "use_cache_branch": np.array([cached]),
            **{f"past_key_values.{name}": values for name, values in self._cache.items()},
        }
        outputs = ("logits", *(f"present.{name}" for name in kept))
        logits, *present = self._decoder.run(outputs, inputs)
        self._cache.update(zip(kept, present, strict=True))
        after: FloatArray = logits[0]
        return after


def without_loop(tokens: tuple[int, ...]) -> tuple[int, ...]:
    """Return tokens up to where they begin to repeat themselves until their end.

    Audio that breaks off in a word, or is none, may lead greedy decoding round and round; it then
    stops at the bound, in the midst of a round. The shortest round counts.
    """
    for round_ in range(1, len(tokens) // 2 + 1):
        pairs = zip(reversed(tokens), reversed(tokens[:-round_]), strict=False)
        again = next((n for n, (one, other) in enumerate(pairs) if one != other), None)
        again = len(tokens) - round_ if again is None else again
        if again >= max(round_, _REPEATED):
            return tokens[:-again]
    return tokens


def read_vocabulary(data: bytes) -> list[bytes]:
    """Read `tokenizer.bin`: per token its length, then its bytes in UTF-8.

    A length of 128 and above takes two bytes, low seven bits first.

    Raises:
        EngineUnavailable: If the data ends inside a token.
    """
    tokens: list[bytes] = []
    at = 0
    try:
        while at < len(data):
            length = data[at]
            at += 1
            if length >= 128:
                length += 128 * (data[at] - 1)
                at += 1
            tokens.append(data[at : at + length])
            at += length
    except IndexError:
        at = len(data) + 1
    if at != len(data):
        raise EngineUnavailable("Moonshine's tokenizer.bin ends inside a token; install it again")
    return tokens
