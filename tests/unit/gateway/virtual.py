"""An event loop in which waiting takes no time: when all tasks wait, its clock jumps."""

import asyncio
import selectors


class VirtualLoop(asyncio.SelectorEventLoop):
    """Starts at 1000 s; fails a test that waits for nothing.

    Attributes:
        now: Seconds.
        jumps: How often the clock was moved.
    """

    def __init__(self) -> None:
        self.now = 1000.0
        self.jumps = 0
        super().__init__(_Jumping(self))

    def time(self) -> float:
        return self.now


class _Jumping(selectors.SelectSelector):
    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None:
            raise AssertionError("the test waits for something that nobody does")
        self._loop.now += timeout
        self._loop.jumps += 1
        return ready
