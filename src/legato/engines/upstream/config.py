"""What an operator may set of every upstream engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, TypeVar
from urllib.parse import urlsplit

import msgspec

from legato.engines.upstream.breaker import Rules
from legato.engines.upstream.dispatch import Patience
from legato.engines.upstream.secret import Secret, read
from legato.errors import EngineUnavailable

Seconds = Annotated[float, msgspec.Meta(gt=0, le=600)]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
RateHz = Annotated[int, msgspec.Meta(ge=8_000, le=48_000)]

PAGE = "docs/upstreams.md"


class Upstreams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options that all upstream engines take.

    Attributes:
        urls: The upstreams, any number; each stream goes to the least loaded.
        streams: Requests that each takes at once.
        key_env: Environment variable that holds the key.
        key_file: File that holds the key, instead.
        connect_timeout: Seconds until there is a connection.
        first_byte_timeout: Seconds until an upstream that was asked gives something.
        idle_timeout: Seconds without more, once it gave something.
        give_up_after: Seconds without a first result, over all upstreams that were asked.
        attempts: Upstreams that one request is tried on, while none has given anything.
        failures: Failures in a row after which an upstream is left alone.
        cooldown: Seconds for which it is, at first; doubled up to a minute.
        probe_interval: Seconds between looks at upstreams that serve nothing; 0 is never.
    """

    urls: tuple[str, ...] = ()
    streams: Annotated[int, msgspec.Meta(ge=1, le=1_000)] = 1
    key_env: str = ""
    key_file: str = ""
    connect_timeout: Seconds = 2.0
    first_byte_timeout: Seconds = 6.0
    idle_timeout: Seconds = 8.0
    give_up_after: Seconds = 9.0
    attempts: Annotated[int, msgspec.Meta(ge=1, le=10)] = 3
    failures: Annotated[int, msgspec.Meta(ge=1, le=100)] = 3
    cooldown: Seconds = 2.0
    probe_interval: Annotated[float, msgspec.Meta(ge=0, le=3_600)] = 10.0

    @property
    def slots(self) -> int:
        """Streams that all upstreams take together."""
        return max(len(self.urls), 1) * self.streams

    @property
    def rules(self) -> Rules:
        """When an upstream is left alone."""
        return Rules(failures=self.failures, cooldown=self.cooldown)

    @property
    def patience(self) -> Patience:
        """How long and how often is tried."""
        return Patience(
            attempts=self.attempts,
            first_byte=self.first_byte_timeout,
            give_up_after=self.give_up_after,
        )


C = TypeVar("C", bound=Upstreams)


def configured(engine: str, kind: type[C], options: Mapping[str, object]) -> C:
    """Return the options that a settings file gives.

    Raises:
        EngineUnavailable: If one is unknown or wrong; names it.
    """
    try:
        return msgspec.convert(dict(options), kind)
    except msgspec.ValidationError as error:
        raise EngineUnavailable(f"{engine}: {error}; see {PAGE}") from error


def check_urls(engine: str, config: Upstreams, schemes: tuple[str, ...], example: str) -> None:
    """Check the addresses.

    Raises:
        EngineUnavailable: If there is none, or one is no address of this kind.
    """
    if not config.urls:
        raise EngineUnavailable(
            f'{engine}: urls is not set; name the servers, such as urls = ["{example}"]'
        )
    for place, url in enumerate(config.urls, 1):
        try:
            parts = urlsplit(url)
            fits = parts.scheme in schemes and parts.hostname and (parts.port or 1) > 0
        except ValueError:
            fits = False
        if not fits:
            raise EngineUnavailable(
                f"{engine}: number {place} of urls is no address such as {example}"
            )
        if parts.username is not None or parts.password is not None:
            raise EngineUnavailable(
                f"{engine}: number {place} of urls holds a password; use key_file or key_env"
            )


def secret_of(engine: str, config: Upstreams) -> Secret:
    """Return the key that is named.

    Raises:
        EngineUnavailable: If it is not where the settings say.
    """
    return read(engine, key_env=config.key_env, key_file=config.key_file)
