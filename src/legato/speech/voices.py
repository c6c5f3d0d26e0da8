"""Who speaks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Voice:
    """A voice that an engine offers.

    Attributes:
        name: What a client asks for; unique within its engine.
        engine: Name of the engine that has it.
        languages: BCP 47 tags that it speaks well.
        gender: "female", "male" or None where it is not said.
        description: One line for a person.
    """

    name: str
    engine: str
    languages: tuple[str, ...] = ("en",)
    gender: str | None = None
    description: str = ""
