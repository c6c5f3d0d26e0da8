"""What `time`, `threading`, `uuid`, `logging` and `tqdm` mean inside CosyVoice's own modules.

CosyVoice has no way to stop a request, to learn that its thread died, or to wait less than 0.1 s.
All of it goes through standard modules, so those names are given others, in the namespaces of
CosyVoice's modules alone: the rest of the process is not touched, and neither is CosyVoice's code
in a thread that works for no request of ours.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Iterable
from types import ModuleType
from typing import Any, Final

from legato.engines.cosyvoice.run import POLL, current


class Time:
    """The module `time`, but `sleep` ends when the request does, and is short."""

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)

    @staticmethod
    def sleep(seconds: float) -> None:
        """Wait for a moment; see `Run.pause`."""
        run = current()
        if run is None:
            time.sleep(seconds)
        else:
            run.pause(seconds)


class Thread(threading.Thread):
    """A thread of CosyVoice: works for the request that started it, and tells it of its end."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{**kwargs, "daemon": True})
        self._legato_run = current()
        if self._legato_run is not None:
            self._legato_run.watch(self)

    def run(self) -> None:
        """Do the thread's work."""
        request = self._legato_run
        if request is None:
            super().run()
            return
        with request.entered():
            try:
                # Stopped before its state was there to be dropped, it would not stop by itself.
                request.check()
                super().run()
            except BaseException as error:  # noqa: BLE001  top of the thread; its request is told
                request.fail(error)

    def join(self, timeout: float | None = None) -> None:
        """Wait for the end, but no longer than the request that waits lasts."""
        waiting = current()
        if waiting is None or timeout is not None:
            super().join(timeout)
            return
        while self.is_alive():
            waiting.pause(POLL)
        waiting.check()


class Threading:
    """The module `threading` with our `Thread`."""

    Thread = Thread

    def __getattr__(self, name: str) -> Any:
        return getattr(threading, name)


class Uuid:
    """The module `uuid`, but a request learns under which key its state is kept."""

    def __getattr__(self, name: str) -> Any:
        return getattr(uuid, name)

    @staticmethod
    def uuid1() -> uuid.UUID:
        """Make a key."""
        key = uuid.uuid1()
        run = current()
        if run is not None:
            run.begin_clip(str(key))
        return key


class Logging:
    """The module `logging`, but what is to be said is not logged."""

    def __getattr__(self, name: str) -> Any:
        return getattr(logging, name)

    @staticmethod
    def debug(*_args: object, **_kwargs: object) -> None:
        """Do nothing."""

    @staticmethod
    def info(*_args: object, **_kwargs: object) -> None:
        """Do nothing: CosyVoice logs each text."""

    @staticmethod
    def warning(*_args: object, **_kwargs: object) -> None:
        """Do nothing: "text … too short than prompt text …"."""


class NoBar:
    """A progress bar that is not drawn.

    Attributes:
        original: The class that draws one.
    """

    def __init__(self, original: type) -> None:
        self.original = original

    def __call__(self, items: Iterable[Any], *_args: object, **_kwargs: object) -> Iterable[Any]:
        """Return what would be gone through."""
        return items


INSTEAD: Final[tuple[tuple[ModuleType, object], ...]] = (
    (time, Time()),
    (threading, Threading()),
    (uuid, Uuid()),
    (logging, Logging()),
)

BAR: Final = "tqdm"
"""What CosyVoice draws a progress bar for each request with."""

NEEDED: Final = frozenset({"time", "threading", "uuid"})
"""Names without which nothing can be mended, in the module of the model."""


USES: Final = "__legato_uses__"
"""Name in a mended module: how many models need it so."""


def mend(modules: Iterable[ModuleType]) -> frozenset[str]:
    """Give the names another meaning where a module has them; return those that were found.

    Each call wants a `restore` of its own.
    """
    found = set()
    for module in modules:
        setattr(module, USES, vars(module).get(USES, 0) + 1)
        for original, instead in INSTEAD:
            name = original.__name__
            if vars(module).get(name) is original:
                setattr(module, name, instead)
            if vars(module).get(name) is instead:
                found.add(name)
        bar = vars(module).get(BAR)
        if isinstance(bar, type):
            setattr(module, BAR, NoBar(bar))
    return frozenset(found)


def restore(modules: Iterable[ModuleType]) -> None:
    """Give the names of modules their meaning back, once nobody needs another."""
    for module in modules:
        uses = vars(module).get(USES, 0) - 1
        setattr(module, USES, max(0, uses))
        if uses > 0:
            continue
        for original, instead in INSTEAD:
            if vars(module).get(original.__name__) is instead:
                setattr(module, original.__name__, original)
        bar = vars(module).get(BAR)
        if isinstance(bar, NoBar):
            setattr(module, BAR, bar.original)
