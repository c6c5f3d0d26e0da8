"""Recordings for the tests of voices, as somebody would send them."""

import io
import math
import wave

import av
import numpy as np

BOUNDARY = "5f1c"


def speech(
    seconds: float = 5.0, *, rate_hz: int = 24_000, channels: int = 1, level: float = 0.1
) -> np.ndarray:
    """Something with the level of speech, int16, shape [samples, channels]."""
    at = np.arange(round(seconds * rate_hz)) / rate_hz
    tone = level * math.sqrt(2) * np.sin(2 * np.pi * 220 * at) * (1 + 0.3 * np.sin(2 * np.pi * at))
    scaled = np.clip(np.rint(tone * 32_768), -32_768, 32_767).astype("<i2")
    return np.repeat(scaled[:, None], channels, axis=1)


def wav(samples: np.ndarray, rate_hz: int = 24_000) -> bytes:
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(samples.shape[1])
        file.setsampwidth(2)
        file.setframerate(rate_hz)
        file.writeframes(samples.tobytes())
    return buffer.getvalue()


def coded(samples: np.ndarray, container: str, codec: str, rate_hz: int) -> bytes:
    """The same, as a recorder or a telephone would write it."""
    buffer = io.BytesIO()
    with av.open(buffer, "w", format=container) as file:
        stream = file.add_stream(codec, rate=rate_hz, layout="mono")
        assert isinstance(stream, av.AudioStream)
        frame = av.AudioFrame.from_ndarray(samples[:, 0][None], format="s16", layout="mono")
        frame.sample_rate = rate_hz
        resampler = av.AudioResampler(
            stream.format.name, "mono", rate_hz, frame_size=stream.frame_size or None
        )
        for piece in (*resampler.resample(frame), *resampler.resample(None)):
            for packet in stream.encode(piece):
                file.mux(packet)
        for packet in stream.encode(None):
            file.mux(packet)
    return buffer.getvalue()


def form(file: bytes | None, field: str = "audio", **fields: str) -> bytes:
    """The body that curl -F makes."""
    parts = [
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in fields.items()
    ]
    if file is not None:
        head = (
            f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{field}"; filename="a.wav"\r\n'
            "Content-Type: application/octet-stream\r\n\r\n"
        )
        parts.append(head.encode() + file + b"\r\n")
    return b"".join([*parts, f"--{BOUNDARY}--\r\n".encode()])
