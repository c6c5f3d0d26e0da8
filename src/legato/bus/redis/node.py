"""One server: calls share writes, are sent again while their outcome is unknown, and do end."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from random import Random
from typing import Final

from legato.bus.redis.call import Call, Outcome, Unknown
from legato.bus.redis.config import RedisConfig
from legato.bus.redis.dialer import Dialer, Refused, keep_connected
from legato.bus.redis.faults import ELSEWHERE, REDIRECTIONS, TRANSIENT, word
from legato.bus.redis.link import Link, Reply, ReplyError, pack
from legato.bus.redis.outage import Outage
from legato.bus.redis.scripts import SCRIPTS
from legato.errors import BusUnavailable

SWEEP: Final = 0.1
"""Seconds between looks at what waits too long."""

RELOADS: Final = 5
"""Times that a call's scripts are loaded again, before a server that keeps none is given up."""

HOLD: Final = 0.05
"""Seconds to leave a server alone that asks for it."""

_ASKING: Final = pack(("ASKING",))


class Node:
    """Talks to one server over one connection that is made again whenever it is lost.

    Calls of one turn of the loop share a write. Replies come in the order of the calls, so that a
    call's commands are carried out in order and after those of earlier calls; after an error that
    passes, the call is sent again, behind later ones.

    Args:
        dialer: How to connect.
        config: Time-outs.
        rng: For the pauses between attempts to connect.
        redirect: Takes a call that belongs to another node, and what the server said.
        troubled: Called when the server cannot be reached or says that it is not the master.

    Attributes:
        calls: Made so far.
    """

    def __init__(
        self,
        dialer: Dialer,
        config: RedisConfig,
        *,
        rng: Random,
        redirect: Callable[[Call, ReplyError], None] | None = None,
        troubled: Callable[[], None] = lambda: None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._dialer = dialer
        self._config = config
        self._redirect = redirect
        self._troubled = troubled
        self._link: Link | None = None
        self._queue: deque[Call] = deque()
        self._sent: deque[Call] = deque()
        self._sending: asyncio.Handle | None = None
        self._sweeping: asyncio.TimerHandle | None = None
        self._held_until = 0.0
        self._closed = False
        self._answers = False
        self._outage = Outage(dialer.address, self._loop.time)
        self._fault = BusUnavailable(f"Redis at {dialer.address} does not answer")
        self._reason = self._fault
        self._keeper = asyncio.create_task(keep_connected(self, rng))
        self.calls = 0

    @property
    def is_up(self) -> bool:
        """Whether the server has answered on its present connection."""
        return self._link is not None and self._answers

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits for a reply."""
        return not (self._queue or self._sent)

    def submit(self, call: Call) -> None:
        """Carry a call out; its outcome comes within `patience`."""
        if self._closed or isinstance(self._reason, Refused):
            self._finish(call, self._why())
            return
        if call.once and self._link is None:
            self._finish(call, _unknown())
            return
        self.calls += 1
        if not call.deadline:
            call.deadline = self._loop.time() + self._config.patience
        self._queue.append(call)
        self._send_soon()
        self._sweep_soon()

    def hand_back(self) -> list[Call]:
        """Return all calls without an outcome, for another node; replies are not waited for."""
        calls = self._take_back()
        self._queue.clear()
        if self._link is not None:
            self._link.abort()
        return calls

    async def close(self) -> None:
        """Drop the connection; what has no outcome yet ends with `BusUnavailable`."""
        self._closed = True
        self._keeper.cancel()
        await asyncio.wait((self._keeper,))
        if self._sweeping is not None:
            self._sweeping.cancel()
        self._give_up(list(self._sent) + list(self._queue))

    # ── connection ──

    def dialer(self) -> Dialer:
        return self._dialer

    def make_link(self) -> Link:
        return Link(self._take, self._send_soon)

    def opened(self, link: Link) -> None:
        self._link = link
        self._answers = False
        self._reason = self._fault
        self._load_scripts()
        self._send_soon()

    def lost(self) -> None:
        """Put what was sent back in its place: nobody knows what became of it."""
        self._link = None
        self._queue = deque(self._take_back())
        self._complain()

    def _take_back(self) -> list[Call]:
        """Return what has no outcome, in order; what may be sent only once has one now."""
        calls = [*self._sent, *self._queue]
        self._sent.clear()
        for call in calls:
            if call.once:
                self._finish(call, _unknown())
        return [call for call in calls if not call.is_done]

    def failed(self, reason: BusUnavailable) -> None:
        self._reason = reason
        if isinstance(reason, Refused):
            self._give_up(list(self._queue))
        self._complain()

    def _complain(self) -> None:
        if not self._closed:
            self._outage.away()
            self._troubled()

    # ── calls ──

    def _load_scripts(self) -> None:
        loads = [("SCRIPT", "LOAD", script.text) for script in SCRIPTS]
        call = Call("", loads, lambda _outcome: None)
        call.deadline = self._loop.time() + self._config.patience
        self._queue.appendleft(call)

    def _send_soon(self) -> None:
        if self._sending is None and self._queue:
            delay = self._held_until - self._loop.time()
            if delay <= 0:
                self._sending = self._loop.call_soon(self._send)
            else:
                self._sending = self._loop.call_later(delay, self._send)

    def _send(self) -> None:
        self._sending = None
        link = self._link
        if link is None or not link.is_writable:
            return
        now = self._loop.time()
        parts: list[bytes] = []
        for call in self._queue:
            if call.is_done:
                continue
            call.sent_at = now
            call.tries += 1
            call.replies = []
            if call.asking:
                for packed in call.packed:
                    parts += (_ASKING, packed)
            else:
                parts += call.packed
            self._sent.append(call)
        self._queue.clear()
        link.write(parts)

    def _take(self, reply: Reply) -> None:
        if not self._sent:
            return  # handed back
        if not self._answers:
            self._answers = True
            self._outage.here()
        call = self._sent[0]
        call.replies.append(reply)
        if len(call.replies) < (2 * call.count if call.asking else call.count):
            return
        self._sent.popleft()
        if call.asking:
            call.asking = False
            del call.replies[::2]
        for reply in call.replies:
            if isinstance(reply, ReplyError) and self._try_again(call, reply):
                return
        self._finish(call, call.replies)

    def _finish(self, call: Call, outcome: Outcome) -> None:
        try:
            call.finish(outcome)
        except Exception as error:  # noqa: BLE001 - one caller's fault must not cost the others
            self._loop.call_exception_handler(
                {"message": "the caller of a Redis call raised", "exception": error}
            )

    def _try_again(self, call: Call, error: ReplyError) -> bool:
        """Send a call again if its error passes; False if its outcome is what was said."""
        name = word(error)
        if name in REDIRECTIONS and self._redirect is not None:
            self._redirect(call, error)
            return True
        if name == "NOSCRIPT" and call.reloads < RELOADS:
            call.reloads += 1
            self._queue.append(call)
            self._load_scripts()
        elif name in TRANSIENT:
            self._reason = BusUnavailable(f"Redis says: {error}")
            if call.once:
                self._finish(call, _unknown())
            else:
                self._queue.append(call)
            self._held_until = self._loop.time() + HOLD
            if name in ELSEWHERE and self._link is not None:
                self._link.abort()
        else:
            return False
        self._send_soon()
        self._sweep_soon()
        return True

    # ── what waits too long ──

    def _sweep_soon(self) -> None:
        if self._sweeping is None:
            due = self._loop.time() + SWEEP
            self._sweeping = self._loop.call_at(due, self._sweep, due)

    def _sweep(self, due: float) -> None:
        self._sweeping = None
        now = self._loop.time()
        late = [c for c in (*self._sent, *self._queue) if c.deadline <= now and not c.is_done]
        self._give_up(late)
        while self._queue and self._queue[0].is_done:
            self._queue.popleft()
        # If this comes late it is we who were away, and the replies may be in the socket.
        if self._sent and now - due < SWEEP and self._link is not None:
            since = max(self._sent[0].sent_at, self._link.heard_at)
            if now - since > self._config.attempt:
                self._link.abort()
        if not self.is_idle:
            self._sweep_soon()

    def _give_up(self, calls: list[Call]) -> None:
        for call in calls:
            self._finish(call, self._why())

    def _why(self) -> BusUnavailable:
        if self._closed:
            return BusUnavailable("the bus is closed")
        return type(self._reason)(self._reason.message)


def _unknown() -> Unknown:
    return Unknown("the connection to Redis was lost")
