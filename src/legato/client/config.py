"""Settings of a client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal, Self, TypedDict, Unpack
from urllib.parse import SplitResult, urlsplit

from legato.errors import ConnectionLost
from legato.flow.backoff import ARTICLES, INTERACTIVE, Profile
from legato.protocol.version import DEFAULT_PORT

DEFAULT_URL: Final = f"ws://127.0.0.1:{DEFAULT_PORT}"

STREAM_PATH: Final = "/v1/stream"

_SCHEMES: Final = {"ws": "ws", "wss": "wss", "http": "ws", "https": "wss"}


Reconnect = Literal["interactive", "articles", "never"]

PROFILES: Final[Mapping[Reconnect, Profile | None]] = MappingProxyType(
    {"interactive": INTERACTIVE, "articles": ARTICLES, "never": None}
)
"""What the names of `reconnect` mean."""


class ConnectOptions(TypedDict, total=False):
    """The optional arguments of `connect`; see `ClientConfig`."""

    key: str | None
    ca_file: Path | str | None
    insecure: bool
    pool_size: int
    connect_timeout: float
    rate: float | None
    burst: float
    reconnect: Reconnect | Profile | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConfig:
    """How a client connects.

    Attributes:
        url: Server, `ws://` or `wss://`; without a path, `/v1/stream` is meant.
        key: Sent as `Authorization: Bearer`.
        ca_file: PEM file with the authority that signed the server's certificate.
        insecure: Accept any certificate. For tests only: anybody could listen.
        pool_size: Connections at the most, made on first use; streams share them.
        connect_timeout: Seconds for a connection and its welcome.
        write_buffer_bytes: Unsent bytes of a connection at which nothing more is given to it.
        rate: Pace of audio up in multiples of real time; unset, as fast as the server takes it.
        burst: Seconds of audio that may go up at once when `rate` is set.
        reconnect: How a lost connection is sought again while streams are open, which then go
            on as if nothing had been: `interactive` at once and often, for someone is listening
            (each delay is drawn from 0 to 250 ms, doubling to 1 s, and to 8 s after 15 s of
            trouble); `articles` 1 s doubling to 60 s, ten times; or a `flow.backoff.Profile`. It
            ends when the server keeps the streams no more. `never`, or None, gives up at once.
    """

    url: str = DEFAULT_URL
    key: str | None = None
    ca_file: Path | None = None
    insecure: bool = False
    pool_size: int = 3
    connect_timeout: float = 10.0
    write_buffer_bytes: int = 65_536
    rate: float | None = None
    burst: float = 2.0
    reconnect: Reconnect | Profile | None = "interactive"

    def __post_init__(self) -> None:
        if self.pool_size < 1:
            raise ValueError(f"pool_size must be 1 or more, not {self.pool_size}")
        if self.rate is not None and not self.rate > 0:
            raise ValueError(f"rate must be above 0, not {self.rate}")
        if not self.burst > 0:
            raise ValueError(f"burst must be above 0, not {self.burst}")
        if isinstance(self.reconnect, str) and self.reconnect not in PROFILES:
            raise ValueError(f"reconnect is one of {', '.join(PROFILES)}, not {self.reconnect!r}")

    @classmethod
    def of(cls, url: str, **options: Unpack[ConnectOptions]) -> Self:
        """Return the settings that these arguments mean.

        Raises:
            ValueError: If a number is out of its range.
        """
        ca_file = options.pop("ca_file", None)
        config = cls(url=url, **options)  # type: ignore[arg-type]  # ca_file is not in them any more
        return replace(config, ca_file=None if ca_file is None else Path(ca_file))

    @property
    def profile(self) -> Profile | None:
        """How delays between attempts to reconnect grow; None if there are none."""
        chosen = self.reconnect
        return PROFILES[chosen] if isinstance(chosen, str) else chosen

    @property
    def address(self) -> str:
        """The WebSocket's URL with its path.

        Raises:
            ConnectionLost: If `url` is none.
        """
        parts = self._parts()
        path = parts.path if parts.path.rstrip("/") else STREAM_PATH
        return f"{_SCHEMES[parts.scheme]}://{parts.netloc}{path}"

    @property
    def http_base(self) -> str:
        """Where the server's HTTP resources are: `engines` and `voices` go behind it.

        Raises:
            ConnectionLost: If `url` is none.
        """
        scheme, _, rest = self.address.partition("://")
        return f"{'https' if scheme == 'wss' else 'http'}://{rest.rpartition('/')[0]}"

    @property
    def host(self) -> str:
        """Name or address of the server's machine."""
        return self._parts().hostname or ""

    @property
    def is_secure(self) -> bool:
        """Whether the connection is encrypted."""
        return self.address.startswith("wss:")

    @property
    def is_local(self) -> bool:
        """Whether the server is on this machine, so that no proxy leads to it."""
        return self.host in {"localhost", "::1"} or self.host.startswith("127.")

    def _parts(self) -> SplitResult:
        url = self.url if "://" in self.url else f"ws://{self.url}"
        try:
            parts = urlsplit(url)
            known = parts.scheme in _SCHEMES and bool(parts.hostname) and parts.port != 0
        except ValueError:  # a port that is no number
            known = False
        if not known:
            raise ConnectionLost(f"{self.url!r} is no address of a server: ws://HOST:PORT is one")
        return parts
