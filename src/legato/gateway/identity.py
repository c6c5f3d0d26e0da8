"""Who speaks: the one hook from which every record gets its tenant."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

DEFAULT_TENANT = "default"


@dataclass(frozen=True, slots=True)
class Identity:
    """A client that was identified.

    Attributes:
        tenant: Owner of all that the client makes.
        proven: Whether it has shown a key, and is not just let in.
    """

    tenant: str
    proven: bool = False


Identify = Callable[[Mapping[str, str], str | None], Identity]
"""Takes the request's headers (lower case) and `hello.auth`; raises `AuthError` to refuse."""


def anyone(headers: Mapping[str, str], auth: str | None) -> Identity:
    """Let everybody in as the default tenant: there are no keys yet."""
    return Identity(DEFAULT_TENANT)


def is_origin_allowed(
    headers: Mapping[str, str], allowed: tuple[str, ...], *, loopback: bool = False
) -> bool:
    """Whether a page of this origin may connect (RFC 6455 §10.2).

    Programs send no origin and are let through; a page must come from this host and port, or
    from an origin named in the settings.

    Args:
        headers: Of the request, lower case.
        allowed: Exact origins, such as "https://app.example.com".
        loopback: Whether this machine alone is served. Then the page's host must be one that
            always means this machine: with a name of its own, an attacker's page would have this
            host and port as soon as the name is made to point here (DNS rebinding).
    """
    origin = headers.get("origin")
    if origin is None or origin in allowed:
        return True
    scheme, separator, authority = origin.partition("://")
    if not separator or scheme.lower() not in {"http", "https"}:
        return False
    if authority.lower() != headers.get("host", "").lower():
        return False
    return not loopback or is_loopback(_hostname(authority))


def is_loopback(host: str) -> bool:
    """Whether `host`, a name or an address, always means the machine itself."""
    if host == "localhost" or host.endswith(".localhost"):  # RFC 6761 §6.3
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _hostname(authority: str) -> str:
    try:
        return urlsplit(f"//{authority}").hostname or ""
    except ValueError:  # brackets that do not pair
        return ""
