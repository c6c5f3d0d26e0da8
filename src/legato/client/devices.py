"""Loudspeaker and microphone, through PortAudio (extra `audio`)."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from types import ModuleType, TracebackType
from typing import Final, Protocol, Self

from legato.audio import AudioChunk, AudioFormat
from legato.client.playout import Playout
from legato.errors import LegatoError
from legato.flow.start import AdaptiveStart

AHEAD: Final = 4.0
"""Seconds of audio held for the loudspeaker before `write` waits, or its depth if that is more."""

BACKLOG: Final = 500
"""Blocks of the microphone that wait before the oldest is dropped: 10 s."""

BLOCK: Final = 0.02
"""Seconds of audio that a device is given or gives at once."""


class DeviceUnavailable(LegatoError):
    """No loudspeaker or microphone can be used (never on the wire)."""

    code = "device_unavailable"
    advice = "Install the audio extra and PortAudio, and check that a device is plugged in."


class Device(Protocol):
    """An open stream of the sound system; calls back from a thread of its own."""

    latency: float

    def start(self) -> object:
        """Begin to call back."""

    def close(self) -> object:
        """Stop calling back and free the device."""


OpenOutput = Callable[[AudioFormat, Callable[[int], bytes]], Device]
"""Opens a loudspeaker that calls for so many samples at a time."""

OpenInput = Callable[[AudioFormat, Callable[[bytes], None]], Device]
"""Opens a microphone that calls with what it heard."""


class Loudspeaker:
    """Plays chunks in order, at the device's own pace.

    Use it by `async with`: the block's end waits until all was heard; an error silences it.

    Args:
        format: Of the chunks.
        depth: Seconds held back before playing starts, more survives a worse network; or what
            learns them, for as many loudspeakers in turn as you like.
        open_device: Opens the device.

    Attributes:
        playout: The buffer in front of the device; counts underruns, knows what was played.
    """

    def __init__(
        self,
        format: AudioFormat,  # noqa: A002  (the field's name everywhere)
        *,
        depth: float | AdaptiveStart = 0.1,
        open_device: OpenOutput | None = None,
    ) -> None:
        self.playout = Playout(format, depth=depth)
        self._open_device = open_device or open_output
        self._device: Device | None = None
        self._loop = asyncio.get_running_loop()
        self._moved = asyncio.Event()
        self._end = 0

    async def __aenter__(self) -> Self:
        device = await asyncio.to_thread(self._open_device, self.playout.format, self._give)
        self._device = device
        device.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._device is None:
            return
        try:
            if kind is None:
                await self.drain()
        finally:
            await asyncio.to_thread(self._device.close)

    async def write(self, chunk: AudioChunk) -> None:
        """Play a chunk after those before it; waits while 4 s are ahead."""
        while self.playout.buffered > max(AHEAD, self.playout.depth):
            await self._wait()
        self.playout.push(chunk, time.monotonic())
        self._end = chunk.sample + chunk.samples

    async def drain(self) -> None:
        """Wait until all that was written has been heard."""
        self.playout.end(self._end)
        while self.playout.buffered:
            await self._wait()
        if self._device is not None:
            await asyncio.sleep(self._device.latency)

    def clear(self) -> None:
        """Fall silent at once: nothing that was written is played any more."""
        self.playout.clear(self._end)

    async def _wait(self) -> None:
        self._moved.clear()
        await self._moved.wait()

    def _give(self, samples: int) -> bytes:
        pcm = self.playout.pull(samples, time.monotonic())
        with contextlib.suppress(RuntimeError):  # the loop is closed, the device not yet
            self._loop.call_soon_threadsafe(self._moved.set)
        return pcm


class Microphone(AsyncIterator[AudioChunk]):
    """What a microphone hears, in blocks of 20 ms. Use it by `async with`.

    Args:
        format: Wanted.
        open_device: Opens the device.

    Attributes:
        overruns: Blocks lost because nobody took them for 10 s.
    """

    def __init__(
        self,
        format: AudioFormat,  # noqa: A002  (the field's name everywhere)
        *,
        open_device: OpenInput | None = None,
    ) -> None:
        self._format = format
        self._open_device = open_device or open_input
        self._device: Device | None = None
        self._loop = asyncio.get_running_loop()
        self._blocks: deque[bytes] = deque()
        self._news = asyncio.Event()
        self._closed = False
        self._sample = 0
        self.overruns = 0

    async def __aenter__(self) -> Self:
        self._device = await asyncio.to_thread(self._open_device, self._format, self._hear)
        self._device.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()
        if self._device is not None:
            await asyncio.to_thread(self._device.close)

    def stop(self) -> None:
        """Hear no more: the iteration ends after what was heard."""
        self._closed = True
        self._news.set()

    async def __anext__(self) -> AudioChunk:
        """Return the next block.

        Raises:
            StopAsyncIteration: After `stop`.
        """
        while not self._blocks:
            if self._closed:
                raise StopAsyncIteration
            self._news.clear()
            await self._news.wait()
        chunk = AudioChunk(self._blocks.popleft(), self._format, self._sample)
        self._sample += chunk.samples
        return chunk

    def _hear(self, pcm: bytes) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed, the device not yet
            self._loop.call_soon_threadsafe(self._take, pcm)

    def _take(self, pcm: bytes) -> None:
        if self._closed:
            return
        if len(self._blocks) >= BACKLOG:
            self._blocks.popleft()
            self.overruns += 1
        self._blocks.append(pcm)
        self._news.set()


def open_output(
    format: AudioFormat,  # noqa: A002  (the field's name everywhere)
    give: Callable[[int], bytes],
) -> Device:
    """Open the default loudspeaker.

    Raises:
        DeviceUnavailable: If there is none.
    """
    sounddevice = _library()

    def fill(out: memoryview, frames: int, _time: object, _status: object) -> None:
        out[:] = give(frames)

    return _opened(sounddevice, "RawOutputStream", format, fill)


def open_input(
    format: AudioFormat,  # noqa: A002  (the field's name everywhere)
    hear: Callable[[bytes], None],
) -> Device:
    """Open the default microphone.

    Raises:
        DeviceUnavailable: If there is none.
    """
    sounddevice = _library()

    def take(heard: memoryview, _frames: int, _time: object, _status: object) -> None:
        hear(bytes(heard))

    return _opened(sounddevice, "RawInputStream", format, take)


def default_devices() -> dict[str, str | None]:
    """Return the names of the default loudspeaker and microphone, None for one that is not there.

    Raises:
        DeviceUnavailable: If PortAudio is missing.
    """
    library = _library()
    names: dict[str, str | None] = {}
    for name, kind in (("loudspeaker", "output"), ("microphone", "input")):
        try:
            names[name] = str(library.query_devices(kind=kind)["name"])
        except (library.PortAudioError, ValueError):
            names[name] = None
    return names


def _library() -> ModuleType:
    try:
        import sounddevice
    except ImportError as error:
        raise DeviceUnavailable(
            "sounddevice is not installed (extra `audio`): pip install sounddevice"
        ) from error
    except OSError as error:
        raise DeviceUnavailable(
            f"{error}; on Debian and Ubuntu: apt-get install libportaudio2"
        ) from error
    library: ModuleType = sounddevice
    return library


def _opened(
    library: ModuleType,
    kind: str,
    format: AudioFormat,  # noqa: A002  (the field's name everywhere)
    callback: Callable[..., None],
) -> Device:
    try:
        device: Device = getattr(library, kind)(
            samplerate=format.sample_rate,
            blocksize=format.samples(BLOCK),
            channels=format.channels,
            dtype="int16",
            callback=callback,
        )
    except library.PortAudioError as error:
        what = "loudspeaker" if kind == "RawOutputStream" else "microphone"
        raise DeviceUnavailable(f"no {what} can be opened: {error}") from error
    return device
