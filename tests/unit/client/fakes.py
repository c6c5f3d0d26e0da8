"""A connection that goes nowhere, and a server that a test plays by hand."""

import asyncio
from collections.abc import Awaitable, Callable

from legato.audio import AudioFormat
from legato.client.channel import Channel
from legato.protocol.media import AudioFrame
from legato.protocol.messages import StreamEnd, StreamStart, Transcript, UtteranceEnd
from legato.session.client_stream import ClientStream
from legato.session.lane import Item


class FakeCarrier:
    """Takes the place of a connection.

    Attributes:
        time: What `now` returns.
        wakes: How often something was to be sent.
        stopped: Channels that were stopped.
        paces: What was asked for.
    """

    def __init__(self) -> None:
        self.time = 100.0
        self.wakes = 0
        self.stopped: list[Channel] = []
        self.paces: list[float] = []

    def wake(self) -> None:
        self.wakes += 1

    def now(self) -> float:
        return self.time

    def stop(self, channel: Channel) -> None:
        self.stopped.append(channel)

    def pace(self, rate: float, channel: Channel) -> None:
        self.paces.append(rate)


class Line:
    """A stream whose server is the test.

    Args:
        task: What it does.
        options: Of the channel.
    """

    def __init__(self, task: str = "synthesize", **options: float | None) -> None:
        start = StreamStart(stream_id="s", stream=1, task=task, sample_rate=8_000)
        self.carrier = FakeCarrier()
        stream = ClientStream(start, AudioFormat(8_000))
        self.channel = Channel(stream, self.carrier, **options)  # type: ignore[arg-type]  # as named there
        self.opened = 0
        self._seq = 0
        self._sample = 0

    async def open(self) -> Channel:
        """What an exchange is given as its opener."""
        self.opened += 1
        return self.channel

    def sent(self) -> list[Item]:
        """What the application has sent since this was last asked."""
        items = []
        while (item := self.channel.stream.out.take(self.carrier.time)) is not None:
            items.append(item)
        self.channel.progressed()
        return items

    async def sends(self, count: int = 1) -> list[Item]:
        """What the application sends, once there are so many entries of it."""
        items: list[Item] = []
        while len(items) < count:
            items += self.sent()
            await asyncio.sleep(0)
        return items

    def say(self, *payloads: bytes, utterance: int = 0) -> None:
        """Have frames of audio arrive."""
        for payload in payloads:
            frame = AudioFrame(payload, self._seq, sample=self._sample, utterance=utterance)
            self._sample += len(payload) // 2
            self._arrive(frame)

    def write(self, text: str, *, final: bool = True, start: int = 0, utterance: int = 0) -> None:
        """Have a transcript arrive."""
        self._arrive(
            Transcript(
                seq=self._seq,
                kind="final" if final else "partial",
                text=text,
                start=start,
                utterance=utterance,
            )
        )

    def end_utterance(
        self, number: int = 0, *, code: str | None = None, cancelled: bool = False
    ) -> None:
        """Have an utterance end, with a fault if `code` names one."""
        reason = "failed" if code else "cancelled" if cancelled else "done"
        self._arrive(
            UtteranceEnd(
                seq=self._seq,
                utterance=number,
                reason=reason,  # type: ignore[arg-type]  # one of the three
                code=code,
                message=code and f"this is {code}",
                sample=self._sample,
            )
        )

    def end(self, *, intact: bool = True) -> None:
        """Have the stream end in good order."""
        self.channel.finish_with(StreamEnd(seq=self._seq), intact=intact)

    def _arrive(self, item: Item) -> None:
        self._seq += 1
        self.channel.receive([item])


async def settle(condition: Callable[[], bool]) -> None:
    """Let other tasks run until `condition` holds; fails the test if they come to rest before."""
    for _ in range(10_000):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("that never came about")


async def rest(steps: int = 20) -> None:
    """Let other tasks run for a few steps."""
    for _ in range(steps):
        await asyncio.sleep(0)


async def first(waiting: Awaitable[object], *, steps: int = 50) -> asyncio.Future[object]:
    """Start something and give it the time of a few steps."""
    task = asyncio.ensure_future(waiting)
    await rest(steps)
    return task
