"""Keys of upstreams: named in the settings, never written there, and shown nowhere."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from legato.errors import EngineUnavailable

HIDDEN: Final = "***"


class Secret:
    """A key, which no `repr`, log or error shows.

    Args:
        value: The key; "" for none.
    """

    __slots__ = ("_value",)

    def __init__(self, value: str = "") -> None:
        self._value = value

    def __repr__(self) -> str:
        return f"Secret({HIDDEN if self._value else 'none'})"

    def __bool__(self) -> bool:
        return bool(self._value)

    def bearer(self) -> dict[str, str]:
        """Return the header that shows the key to an upstream; none without a key."""
        return {"Authorization": f"Bearer {self._value}"} if self._value else {}

    def scrubbed(self, text: str) -> str:
        """Return what an upstream says without the key, which some repeat."""
        return text.replace(self._value, HIDDEN) if self._value else text


def read(engine: str, *, key_env: str, key_file: str) -> Secret:
    """Return the key that the settings name.

    Args:
        engine: Name for the error.
        key_env: Environment variable that holds it; "" for none.
        key_file: File that holds it and nothing else; "" for none.

    Raises:
        EngineUnavailable: If it is not where the settings say, or is no key.
    """
    if key_file:
        try:
            value = Path(key_file).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise EngineUnavailable(
                f"{engine}: key_file {key_file} cannot be read: {type(error).__name__}"
            ) from error
        return Secret(_sound(engine, value, f"the file {key_file}"))
    if key_env:
        value = os.environ.get(key_env, "").strip()  # noqa: TID251  the settings name the variable
        return Secret(_sound(engine, value, f"the environment variable {key_env}"))
    return Secret()


def _sound(engine: str, value: str, place: str) -> str:
    """Return the key if it can stand in a header."""
    if not value:
        raise EngineUnavailable(f"{engine}: there is no key in {place}; put it there")
    if not value.isascii() or not value.isprintable():
        raise EngineUnavailable(f"{engine}: what is in {place} is no key: it must be plain ASCII")
    return value
