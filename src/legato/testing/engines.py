"""The contract of an engine, as pytest classes: subclass one in your tests and return your engine.

Example::

    from legato.testing.engines import SynthesizerContract


    class TestMine(SynthesizerContract):
        @classmethod
        def make(cls) -> Synthesizer:
            return Mine()
"""

from __future__ import annotations

from legato.testing.batches import BatchRecognizerContract, BatchSynthesizerContract
from legato.testing.recognizers import RecognizerContract
from legato.testing.synthesizers import SynthesizerContract

__all__ = [
    "BatchRecognizerContract",
    "BatchSynthesizerContract",
    "RecognizerContract",
    "SynthesizerContract",
]
