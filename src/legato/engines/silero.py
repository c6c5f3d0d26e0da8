"""Probability of speech, window by window: the Silero VAD network on ONNX Runtime.

The network file is Silero's own (MIT, see the licence beside it). It lies in this package because
the wheels that carry it have no build for Linux on arm64.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from legato.engines.installation import require
from legato.engines.onnx import Network

SAMPLE_RATE_HZ: Final = 16_000
WINDOW: Final = 512
"""Samples of one window: what the network was trained on at 16 kHz, 32 ms."""

CONTEXT: Final = 64
"""Samples of the window before that are put in front; without them the network hears nothing."""

_WEIGHTS: Final = Path(__file__).with_name("weights") / "silero_vad.onnx"


def check() -> None:
    """Look for the runtime that the network needs.

    Raises:
        EngineUnavailable: If it is missing; names the line that adds it.
    """
    require("onnxruntime", extra="voices")


class Silero:
    """The network, loaded once for all streams of a process.

    Raises:
        EngineUnavailable: If the runtime is missing; names the line that adds it.
    """

    def __init__(self) -> None:
        self.network = Network(_WEIGHTS)


class SpeechProbability:
    """Probability of speech in one stream of 16 kHz audio.

    Args:
        silero: The shared network.
    """

    def __init__(self, silero: Silero) -> None:
        self._network = silero.network
        self._rate = np.array(SAMPLE_RATE_HZ, np.int64)
        self.reset()

    def reset(self) -> None:
        """Forget all audio, as at the start of a stream."""
        self._state = np.zeros((2, 1, 128), np.float32)
        self._input = np.zeros((1, CONTEXT + WINDOW), np.float32)

    def accept(self, window: NDArray[np.float32]) -> float:
        """Return the probability that the next window holds speech, 0 to 1.

        Args:
            window: The `WINDOW` samples after those of the last call, in [-1, 1).
        """
        self._input[0, :CONTEXT] = self._input[0, -CONTEXT:]
        self._input[0, CONTEXT:] = window
        probability, self._state = self._network.run(
            ("output", "stateN"), {"input": self._input, "state": self._state, "sr": self._rate}
        )
        return float(probability[0, 0])
