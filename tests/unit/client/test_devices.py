import asyncio
import sys
from collections.abc import Callable
from types import ModuleType

import pytest

from legato.audio import AudioChunk, AudioFormat
from legato.client.devices import (
    AHEAD,
    BACKLOG,
    Device,
    DeviceUnavailable,
    Loudspeaker,
    Microphone,
    default_devices,
    open_input,
    open_output,
)
from tests.unit.client.fakes import first, rest

FORMAT = AudioFormat(8_000)
BLOCK = bytes(320)


class FakeDevice:
    """A device that calls back when the test says so."""

    latency = 0.0

    def __init__(self) -> None:
        self.running = False
        self.give: Callable[[int], bytes] = lambda samples: bytes(2 * samples)
        self.hear: Callable[[bytes], None] = lambda _pcm: None

    def start(self) -> None:
        self.running = True

    def close(self) -> None:
        self.running = False

    def open_output(self, _format: AudioFormat, give: Callable[[int], bytes]) -> Device:
        self.give = give
        return self

    def open_input(self, _format: AudioFormat, hear: Callable[[bytes], None]) -> Device:
        self.hear = hear
        return self


def chunk(number: int, samples: int = 160) -> AudioChunk:
    return AudioChunk(b"\1\0" * samples, FORMAT, number * samples)


async def test_what_is_written_is_played_and_waited_for() -> None:
    device = FakeDevice()
    async with Loudspeaker(FORMAT, depth=0.0, open_device=device.open_output) as loudspeaker:
        assert device.running
        await loudspeaker.write(chunk(0))
        await loudspeaker.write(chunk(1))
        assert device.give(160) == b"\1\0" * 160
        draining = await first(loudspeaker.drain())
        assert not draining.done()
        assert device.give(200) == b"\1\0" * 160 + bytes(80)
        await draining
        assert loudspeaker.playout.underruns == 0

    assert not device.running


async def test_the_depth_is_no_obstacle_to_the_end() -> None:
    device = FakeDevice()
    async with Loudspeaker(FORMAT, depth=5.0, open_device=device.open_output) as loudspeaker:
        await loudspeaker.write(chunk(0))
        assert device.give(160) == bytes(320)
        draining = await first(loudspeaker.drain())
        assert device.give(160) == b"\1\0" * 160
        await draining


async def test_a_writer_waits_while_enough_is_ahead() -> None:
    device = FakeDevice()
    second = 8_000
    async with Loudspeaker(FORMAT, open_device=device.open_output) as loudspeaker:
        for number in range(int(AHEAD) + 1):
            await loudspeaker.write(chunk(number, second))
        waiting = await first(loudspeaker.write(chunk(int(AHEAD) + 1, second)))
        assert not waiting.done()
        device.give(2 * second)
        await waiting
        loudspeaker.clear()
        assert device.give(second) == bytes(2 * second)


async def test_a_depth_beyond_what_a_writer_waits_for_is_reached() -> None:
    device = FakeDevice()
    second, depth = 8_000, AHEAD + 2
    async with Loudspeaker(FORMAT, depth=depth, open_device=device.open_output) as loudspeaker:
        for number in range(int(depth)):
            writing = await first(loudspeaker.write(chunk(number, second)))
            assert writing.done()
        assert device.give(160) == b"\1\0" * 160
        loudspeaker.clear()


async def test_an_error_silences_the_loudspeaker_at_once() -> None:
    device = FakeDevice()
    loudspeaker = Loudspeaker(FORMAT, open_device=device.open_output)
    await loudspeaker.__aenter__()
    await loudspeaker.write(chunk(0))

    await loudspeaker.__aexit__(ZeroDivisionError, ZeroDivisionError(), None)

    assert not device.running


async def test_the_microphone_gives_what_it_hears_until_it_is_stopped() -> None:
    device = FakeDevice()
    async with Microphone(FORMAT, open_device=device.open_input) as microphone:
        reading = await first(anext(microphone))
        assert not reading.done()
        device.hear(BLOCK)
        device.hear(BLOCK)
        chunks = [await reading]
        await rest()
        microphone.stop()
        device.hear(BLOCK)
        chunks += [heard async for heard in microphone]

    assert chunks == [AudioChunk(BLOCK, FORMAT, 0), AudioChunk(BLOCK, FORMAT, 160)]
    assert not device.running


async def test_what_nobody_takes_is_dropped_and_counted() -> None:
    device = FakeDevice()
    async with Microphone(FORMAT, open_device=device.open_input) as microphone:
        for _ in range(BACKLOG + 3):
            device.hear(BLOCK)
        await rest()
        microphone.stop()

        assert len([heard async for heard in microphone]) == BACKLOG
        assert microphone.overruns == 3


def test_a_device_that_outlives_the_loop_troubles_nobody() -> None:
    device = FakeDevice()

    async def leave() -> None:
        loudspeaker = Loudspeaker(FORMAT, open_device=device.open_output)
        microphone = Microphone(FORMAT, open_device=device.open_input)
        await loudspeaker.__aenter__()
        await microphone.__aenter__()

    asyncio.run(leave())

    assert device.give(10) == bytes(20)
    device.hear(BLOCK)


class FakeSoundDevice(ModuleType):
    """PortAudio's binding, with a loudspeaker and no microphone."""

    class PortAudioError(Exception):
        pass

    class RawOutputStream:
        latency = 0.0

        def __init__(self, **options: object) -> None:
            self.options = options

        def start(self) -> None:
            """It runs."""

        def close(self) -> None:
            """It is free again."""

    def RawInputStream(self, **_options: object) -> None:  # noqa: N802  (its name there)
        raise self.PortAudioError("no device")

    def query_devices(self, *, kind: str) -> dict[str, str]:
        if kind == "input":
            raise self.PortAudioError("no device")
        return {"name": "A box"}


def test_the_loudspeaker_is_opened_as_it_will_be_fed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sounddevice", FakeSoundDevice("sounddevice"))

    device = open_output(FORMAT, lambda samples: b"\1\0" * samples)

    assert isinstance(device, FakeSoundDevice.RawOutputStream)
    options = device.options
    assert (options["samplerate"], options["channels"], options["dtype"]) == (8_000, 1, "int16")
    fill = options["callback"]
    out = bytearray(8)
    assert callable(fill)
    fill(memoryview(out), 4, None, None)
    assert out == b"\1\0" * 4


def test_a_device_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sounddevice", FakeSoundDevice("sounddevice"))

    with pytest.raises(DeviceUnavailable, match="no microphone can be opened"):
        open_input(FORMAT, lambda _pcm: None)
    assert default_devices() == {"loudspeaker": "A box", "microphone": None}


def test_what_is_not_installed_is_told_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sounddevice", None)

    with pytest.raises(DeviceUnavailable, match="pip install sounddevice"):
        open_input(FORMAT, lambda _pcm: None)
