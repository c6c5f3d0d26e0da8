"""One connection to the server, with the streams on it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

from websockets.exceptions import ConnectionClosed

from legato.client.channel import Channel
from legato.client.lifeline import Lifeline
from legato.errors import ConnectionLost, Draining
from legato.protocol.messages import StreamStart
from legato.session.events import (
    DrainAnnounced,
    LinkStalled,
    Noticed,
    Paced,
    Progressed,
    Received,
    ResumeRefused,
    SessionFailed,
    StreamFailed,
    StreamFinished,
    StreamOpened,
    StreamRecovered,
    Welcomed,
)

FRESH: Final = 10.0
"""Seconds of silence that are not suspicious."""

PROBE_TIMEOUT: Final = 2.0
"""Seconds that it may take to answer."""


class Connection(Lifeline):
    """One connection to the server, with the streams on it.

    A socket that breaks, falls silent, or whose server goes away is replaced by another one, on
    which the streams go on; see `ClientConfig.reconnect`.

    Args:
        config: How to connect.
        dial: Opens a WebSocket.

    Attributes:
        fresh: Seconds of silence after which it is asked, when idle, whether it still lives.
    """

    fresh = FRESH

    @property
    def usable(self) -> bool:
        """Whether new streams may be opened here."""
        return (
            self._wire is not None
            and self._wire.is_open
            and self._fault is None
            and not self._recovery.under_way
            and not self._draining
            and not self._leaving
        )

    @property
    def load(self) -> int:
        """Open streams."""
        return len(self._channels)

    @property
    def unsent_bytes(self) -> int:
        """Bytes that the kernel has not taken."""
        return 0 if self._wire is None else self._wire.unsent_bytes

    @property
    def rtt(self) -> float | None:
        """Round-trip time in seconds of the last ping."""
        return self._session.rtt

    async def open(self) -> None:
        """Connect and say hello.

        Raises:
            ConnectionLost: If the server cannot be reached, or is no Legato server.
            LegatoError: If it refuses.
        """
        try:
            async with asyncio.timeout(self._config.connect_timeout):
                self._attach(await self._recovery.dial())
                await self._welcomed
        except TimeoutError as error:
            self.abort()
            if self._recovery.cause is not None:  # it does answer: not now
                raise self._recovery.cause from error
            raise ConnectionLost(f"{self._config.address} does not answer in time") from error
        except BaseException:
            self.abort()
            raise

    async def is_alive(self) -> bool:
        """Ask the server for a sign of life, if it was silent for long and nothing else asks."""
        wire = self._wire
        if wire is None or not self.usable:
            return False
        if self._channels or self.now() < self._heard_at + self.fresh:
            return True
        try:
            async with asyncio.timeout(PROBE_TIMEOUT):
                await (await wire.socket.ping())
        except (TimeoutError, ConnectionClosed):
            return False
        self._heard_at = self.now()
        return self.usable

    def start(self, start: StreamStart) -> Channel:
        """Open a stream; its input may be queued at once.

        Raises:
            LegatoError: If the parameters cannot be served, or the connection is lost.
        """
        if self._fault is not None:
            raise self._fault
        welcome = self._session.welcome
        assert welcome is not None  # noqa: S101  (`open` has waited for it)
        channel = Channel(
            self._session.start(start),
            self,
            rate=self._config.rate,
            burst=self._config.burst,
            max_text_chars=welcome.limits.max_text_chars,
        )
        self._channels[channel.stream] = channel
        self._look_after()
        self.wake()
        return channel

    def stop(self, channel: Channel) -> None:
        """End a stream now and have its data deleted."""
        if self._channels.pop(channel.stream, None) is not None:
            self._session.stop(channel.stream)
            self._settle()
            self.wake()

    def pace(self, rate: float, channel: Channel) -> None:
        """Ask the server to send a stream at `rate` times real time."""
        self._session.pace(rate, channel.stream)
        self.wake()

    async def close(self) -> None:
        """Close in good order: streams under way are stopped and fail, and the server knows."""
        self._leaving = True
        for channel in list(self._channels.values()):
            self.stop(channel)
            channel.fail(ConnectionLost("the client was closed"))
        if self._wire is not None:
            await self._wire.close()
        self._lose(ConnectionLost("the connection was closed"))
        await asyncio.gather(*self._partings, return_exceptions=True)

    def abort(self) -> None:
        """Drop the connection; streams on it fail."""
        wire = self._wire
        self._lose(ConnectionLost("the connection was closed"))
        if wire is not None:
            wire.abort()

    # events

    def _handle_events(self) -> None:
        for event in self._session.take_events():
            self._HANDLERS[type(event)](self, event)

    def _on_welcomed(self, event: Welcomed) -> None:
        if not self._welcomed.done():
            self._welcomed.set_result(None)

    def _on_opened(self, event: StreamOpened) -> None:
        channel = self._channels.get(event.stream)
        if channel is not None:
            channel.opened(event.started)

    def _on_received(self, event: Received) -> None:
        channel = self._channels.get(event.stream)
        if channel is not None:
            channel.receive(event.items)

    def _on_progressed(self, event: Progressed) -> None:
        channel = self._channels.get(event.stream)
        if channel is not None:
            channel.progressed()

    def _on_recovered(self, event: StreamRecovered) -> None:
        channel = self._channels.get(event.stream)
        if channel is not None:
            channel.recovered()

    def _on_finished(self, event: StreamFinished) -> None:
        channel = self._channels.pop(event.stream, None)
        if channel is not None:
            channel.finish_with(event.end, intact=event.intact)

    def _on_failed(self, event: StreamFailed) -> None:
        channel = self._channels.pop(event.stream, None)
        if channel is not None:
            channel.fail(event.error)

    def _on_noticed(self, event: Noticed) -> None:
        channel = self._channels.get(event.stream)
        if channel is not None:
            channel.notice(event.notice)

    def _on_paced(self, event: Paced) -> None:
        """The session obeys by itself."""

    def _on_drain(self, event: DrainAnnounced) -> None:
        self._draining = True
        self._move(Draining(f"the server goes away in {event.deadline:g} s"))

    def _on_stalled(self, event: LinkStalled) -> None:
        self._race(event.error)

    def _on_resume_refused(self, event: ResumeRefused) -> None:
        self._part(event.error)

    def _on_session_failed(self, event: SessionFailed) -> None:
        self._part(event.error)

    _HANDLERS: ClassVar[Mapping[type, Callable[[Connection, Any], None]]] = {
        Welcomed: _on_welcomed,
        StreamOpened: _on_opened,
        StreamRecovered: _on_recovered,
        Received: _on_received,
        Progressed: _on_progressed,
        StreamFinished: _on_finished,
        StreamFailed: _on_failed,
        Noticed: _on_noticed,
        Paced: _on_paced,
        DrainAnnounced: _on_drain,
        LinkStalled: _on_stalled,
        ResumeRefused: _on_resume_refused,
        SessionFailed: _on_session_failed,
    }
