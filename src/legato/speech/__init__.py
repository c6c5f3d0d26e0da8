"""The vocabulary of speech: what is asked for, what comes back, and who speaks."""

from legato.speech.requests import Endpointing, RecognitionRequest, SynthesisRequest
from legato.speech.transcripts import Transcript, Word
from legato.speech.voices import Voice, VoicePrompt

__all__ = [
    "Endpointing",
    "RecognitionRequest",
    "SynthesisRequest",
    "Transcript",
    "Voice",
    "VoicePrompt",
    "Word",
]
