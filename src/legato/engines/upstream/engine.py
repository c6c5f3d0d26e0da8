"""What all engines have in common whose work is done elsewhere."""

from __future__ import annotations

from abc import ABC, abstractmethod

from legato.engines.base import EngineInfo
from legato.engines.upstream.config import Upstreams
from legato.engines.upstream.dispatch import Attempt, Dispatch
from legato.engines.upstream.exchange import Timing
from legato.engines.upstream.pool import Pool
from legato.engines.upstream.probe import Prober, reachable
from legato.errors import EngineUnavailable


class UpstreamEngine(ABC):
    """An engine with upstreams.

    Args:
        info: What the engine says of itself.
        config: Its options.
    """

    def __init__(self, info: EngineInfo, config: Upstreams) -> None:
        self.info = info
        self._config = config
        self._loaded: Dispatch[str] | None = None
        self._prober: Prober | None = None

    @abstractmethod
    def check(self) -> None:
        """Look at the options, without asking an upstream.

        Raises:
            EngineUnavailable: If something is missing or wrong; names it.
        """

    def answers(self, url: str) -> bool:
        """Tell whether an upstream is at its place."""
        return reachable(url, self._config.connect_timeout)

    def load(self) -> None:
        """Check the options and look at the upstreams once.

        One that is away is no reason not to load: it may come back before it is needed.
        """
        self.check()
        if self._loaded is not None:
            return
        config = self._config
        pool = Pool(len(config.urls), streams=config.streams, rules=config.rules)
        dispatch = Dispatch(self.info.name, config.urls, pool, patience=config.patience)
        dispatch.probe(self.answers)
        self._loaded = dispatch
        self._prober = Prober(lambda: dispatch.probe(self.answers), config.probe_interval)
        self._prober.start()

    def close(self) -> None:
        """Ask no upstream any more."""
        if self._prober is not None:
            self._prober.close()
        self._loaded = self._prober = None

    def timing(self, attempt: Attempt[str]) -> Timing:
        """Return when waiting for an attempt ends."""
        config = self._config
        return Timing(
            connect=config.connect_timeout, deadline=attempt.deadline, idle=config.idle_timeout
        )

    @property
    def _dispatch(self) -> Dispatch[str]:
        if self._loaded is None:
            raise EngineUnavailable(f"{self.info.name} is not loaded yet")
        return self._loaded
